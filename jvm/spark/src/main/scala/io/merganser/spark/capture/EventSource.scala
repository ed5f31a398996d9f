package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.Expressions._
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/**
 * The events of a frame, in whatever form it has them: JSON, or the envelope's fields as columns.
 *
 * @param keys     the table's key columns
 * @param sequence columns that order the events: the frame's have these names behind [[Parsed.Beside]], too, if it has
 *                 them beside its events, as Kafka's has `offset`
 */
private[capture] final class EventSource(frame: DataFrame, preset: Preset, keys: Seq[String], sequence: Seq[String]) {
  import EventSource._

  private val schema = frame.schema
  private val names  = schema.fieldNames.toSet

  /**
   * Whether the events are JSON: a column `value` of strings or bytes, or one column of strings. A row may have a
   * column of that name: then the frame has the fields of the envelope, or the key, beside it.
   */
  private val isJson: Boolean = !preset.isRows && {
    if (!names("value")) schema.length == 1 && isTextual(schema.head.dataType)
    else {
      val isRow =
        preset.isFlat && (names -- OfKafka).exists(name => preset.header.exists(_._1 == name) || keys.contains(name))
      isTextual(schema("value").dataType) && !isRow
    }
  }

  /**
   * Work with the events, whose source is read once: columns and types of JSON are found in one pass and parsed in
   * another. Frames with types need one.
   */
  def read[T](work: Read => T): T = {
    val own = sequence.flatMap(column => spelled(beside, column).map(found => named(found).as(Parsed.Beside + column)))
    if (!isJson) work(new Read(if (own.isEmpty) frame else frame.select(col("*") +: own: _*)))
    else {
      val texts = new Persisted(frame.sparkSession)
      try work(new Read(texts(JsonEvents.texts(frame, preset, own))))
      finally texts.release()
    }
  }

  /** What can be read of the events several times. */
  final class Read private[EventSource] (events: DataFrame) {

    /** @throws MerganserException CHANGES_FORM_UNKNOWN: the frame has neither JSON nor the preset's fields */
    def parsed(known: Known, keys: Seq[String] = keys): Parsed =
      if (isJson) new JsonEvents(events, preset, keys, known).parsed
      else new StructEvents(events, preset, keys, known).parsed

    /** The key columns that the events name: the fields of their `key`, or of the preset's field for them. */
    def keyFields: Seq[String] =
      if (isJson) JsonEvents.keyFields(events, preset)
      else fieldOf(schema, "key").collect { case key: StructType => key.fieldNames.toSeq }.getOrElse(Nil)
  }

  /** The columns of the frame that are no part of its events. */
  private def beside: Seq[String] = {
    val all  = schema.fieldNames.toSeq
    def root = StructEvents.unwrapped(schema, preset)._1
    val events: Set[String] =
      if (isJson) Set(if (names("value")) "value" else all.head, "key")
      else if (preset.isRows) names
      else if (root.nonEmpty) Set(root.head, "key")
      else if (preset.isFlat) names
      else (preset.header.map(_._1) ++ preset.rows ++ preset.after ++ preset.before).map(top).toSet
    all.filterNot(events)
  }
}

private[capture] object EventSource {

  /** Columns of Spark's source for Kafka, of which `value` has the event. */
  val OfKafka: Set[String] =
    Set("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")

  def isTextual(dataType: DataType): Boolean = dataType.isInstanceOf[StringType] || dataType == BinaryType

  def fieldOf(schema: StructType, name: String): Option[DataType] = schema.find(_.name == name).map(_.dataType)

  /** The type of a field inside structs. */
  def typeAt(schema: StructType, path: String): Option[DataType] =
    path.split('.').foldLeft(Option[DataType](schema)) {
      case (Some(struct: StructType), part) => fieldOf(struct, part)
      case _                                => None
    }

  /** The columns of parsed events, in which each row image is one: an event with several rows becomes several. */
  def withImages(read: DataFrame, preset: Preset): DataFrame = {
    def of(path: Option[String]): Column = path.fold(nothing(StringType))(path => at(s"${Parsed.Header}.$path"))
    val images = preset.rows match {
      case Some(rows) =>
        val before = preset.before.fold(nothing(StringType))(path => get(at(s"${Parsed.Header}.$path"), col("_i")))
        read.select(col("*"), posexplode_outer(of(Some(rows))).as(Seq("_i", Parsed.After)))
          .withColumn(Parsed.Before, before)
      case None =>
        read.withColumn(Parsed.After, preset.after.fold(col(Parsed.Header))(path => of(Some(path))))
          .withColumn(Parsed.Before, of(preset.before))
    }
    val kept = Parsed.All ++ images.columns.filter(_.startsWith(Parsed.Beside))
    images.select(kept.map(named): _*)
  }
}

/** Events with the envelope's fields as columns. */
private[capture] final class StructEvents(frame: DataFrame, preset: Preset, keys: Seq[String], known: Known) {
  import EventSource._
  import StructEvents._

  private val own            = StructType(frame.schema.filterNot(_.name.startsWith(Parsed.Beside)))
  private val (root, schema) = unwrapped(own, preset)

  def parsed: Parsed = {
    requireFields()
    val before = preset.before.flatMap(imageType)
    val image  = preset.rows.orElse(preset.after).fold(Option(schema))(imageType)
    val wires  = (before.toSeq ++ image).flatten.map(field => field.name -> field.dataType)
    val types  = wires.toMap // of the new row, where both have a column
    val order  = wires.map(_._1).distinct
    Known.requireDistinct(order)
    val columns = known.applied(order.filter(preset.isRowColumn)).map(column =>
      column -> Fitting.byTypes(types(column), known.typeOf(column), preset))
    val paths = (preset.rows ++ preset.after ++ preset.before).toSeq
    val header = preset.header.map { case (path, kind) => path -> leaf(path, DataType.fromDDL(kind)) } ++
      paths.map(path => path -> typeAt(schema, path).fold(nothing(StringType))(_ => within(path)))
    val flat = if (preset.isFlat) columns.map(_._1).filterNot(header.map(_._1).toSet).map(name =>
      (name, within(Seq(name))))
    else Nil
    val event  = Parsed.nested(header)(record) ++ flat
    val isNull = if (root.isEmpty) lit(false) else whole.isNull
    val key    = fieldOf(frame.schema, "key").filter(_ => root.nonEmpty).collect { case key: StructType => key }
    val read = frame.select(Seq(
        when(!isNull, to_json(whole)).as(Parsed.Raw),
        fieldOf(frame.schema, "key").collect { case _: StructType => to_json(col("key")) }.getOrElse(
          nothing(StringType))
          .as(Parsed.Key),
        isNull.as(Parsed.Absent),
        lit(false).as(Parsed.Corrupt),
        lit(true).as(Parsed.IsObject),
        lit(false).as(Parsed.Trailing),
        nothing(LongType).as(Parsed.Schema),
        record(event).as(Parsed.Header),
        key.filter(_.fieldNames.exists(keys.contains)).fold(nothing(StringType))(_ => col("key")).as(Parsed.Keys)
      ) ++ frame.columns.filter(_.startsWith(Parsed.Beside)).map(named): _*)
    Parsed(withImages(read, preset), columns, before.isDefined)
  }

  private def within(path: Seq[String]): Column = {
    val whole = root ++ path
    whole.tail.foldLeft(named(whole.head))(_.getField(_))
  }
  private def within(path: String): Column = within(path.split('.').toSeq)

  private def whole: Column = if (root.isEmpty) struct(own.fieldNames.toSeq.map(named): _*) else within(Nil)

  private def leaf(path: String, dataType: DataType): Column = typeAt(schema, path) match {
    case None                                                                      => nothing(dataType)
    case Some(_: StructType | _: ArrayType | _: MapType) if dataType == StringType => to_json(within(path))
    case Some(_)                                                                   => within(path).cast(dataType)
  }

  private def requireFields(): Unit = preset.rows.orElse(preset.after).filter(typeAt(schema, _).isEmpty).foreach {
    image =>
      throw MerganserException("CHANGES_FORM_UNKNOWN", "preset" -> preset.name,
        "fields" -> (preset.header.map(_._1) :+ image).map(top).distinct.sorted.mkString(", "),
        "columns" -> schema.fieldNames.mkString(", "))
  }

  private def imageType(path: String): Option[StructType] = typeAt(schema, path).map {
    case ArrayType(image: StructType, _) => image
    case image: StructType               => image
    case other =>
      throw MerganserException("CHANGES_IMAGE_TYPE", "preset" -> preset.name, "field" -> path, "type" -> other.sql)
  }
}

private[capture] object StructEvents {
  import EventSource._

  /** The path and the fields of the event: in Kafka's `value`, in Connect's `payload`, or the frame itself. */
  def unwrapped(frame: StructType, preset: Preset): (Seq[String], StructType) =
    if (preset.isRows) (Nil, frame)
    else
      Seq("value" -> OfKafka, "payload" -> Set("schema", "payload")).foldLeft((Seq.empty[String], frame)) {
        case ((root, schema), (wrapper, siblings)) =>
          def hasImage  = (preset.rows ++ preset.after).exists(typeAt(schema, _).isDefined)
          val isWrapper = schema.fieldNames.forall(siblings) || (!preset.isFlat && !hasImage)
          fieldOf(schema, wrapper) match {
            case Some(inner: StructType) if isWrapper => (root :+ wrapper, inner)
            case _                                    => (root, schema)
          }
      }
}
