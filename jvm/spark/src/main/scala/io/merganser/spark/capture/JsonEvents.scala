package io.merganser.spark.capture

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json
import io.merganser.spark.capture.Expressions._
import io.merganser.spark.capture.Parsed._
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._
import scala.util.Try

/** Events in JSON: parsed once their columns and the types of these are known. */
private[capture] final class JsonEvents(texts: DataFrame, preset: Preset, keys: Seq[String], known: Known) {
  import JsonEvents._

  /** The events of [[JsonEvents.texts]]. */
  def parsed: Parsed = {
    val columns = rowColumns
    val image   = StructType(columns.map { case (column, value) => StructField(column, value.wire) })
    val event   = eventSchema(image)
    val bare    = texts.withColumn("_b", when(!col(Wrapped), json(col(Raw), event)))
    val header  = record(event.map(field => field.name -> col("_b").getField(field.name)))
    val isBad   = col("_b").isNull || col("_b").getField(Corrupt).isNotNull
    val read =
      if (!preset.hasSchema)
        bare.select(col("*"), header.as(Header), lit(false).as(Absent), isBad.as(Corrupt))
      else {
        val wrapped = col("_w")
        val isWrong = wrapped.getField(Corrupt).isNotNull
        bare.withColumn("_w", when(col(Wrapped), json(col(Raw), new StructType().add(Payload, event)))).select(
          col("*"),
          when(col(Wrapped), wrapped.getField(Payload)).otherwise(header).as(Header),
          (col(Wrapped) && wrapped.getField(Payload).isNull && wrapped.isNotNull && !isWrong).as(Absent),
          when(col(Wrapped), wrapped.isNull || isWrong).otherwise(isBad).as(Corrupt)
        )
      }
    val keyed = read
      .withColumn(Absent, col(Raw).isNull || trim(col(Raw)) === "null" || col(Absent))
      .withColumn(Corrupt, col(Raw).isNotNull && col(Corrupt))
      .withColumn(Keys, keyValues(image))
    Parsed(EventSource.withImages(keyed, preset), columns, preset.before.isDefined, places(event))
  }

  private def keyValues(image: StructType): Column = {
    val fields = image.filter(field => keys.exists(_.equalsIgnoreCase(field.name)))
    if (fields.isEmpty) nothing(StringType)
    else {
      val own = StructType(fields)
      let(fromJson(col(Key), StructType(fields :+ StructField(Payload, own))))(key =>
        record(fields.map(field =>
            field.name -> coalesce(key.getField(Payload).getField(field.name), key.getField(field.name)))))
    }
  }

  private def eventSchema(image: StructType): StructType = {
    val header = preset.header.map { case (path, kind) => path -> DataType.fromDDL(kind) }
    val images = preset.rows match {
      case Some(rows) => (rows +: preset.before.toSeq).map(_ -> ArrayType(image))
      case None       => (preset.after ++ preset.before).map(_ -> image).toSeq
    }
    val leaves = header ++ images
    val flat   = if (preset.after.isEmpty) image.filterNot(field => leaves.exists(_._1 == field.name)) else Nil
    StructType(structOf(leaves) ++ flat)
  }

  /** Each value of an event by its place: that of a new row by its column, others by the path; and how it is read. */
  private def places(event: StructType): Seq[(String, StructType)] = {
    val rows = (preset.rows.map(path => s"$path[]") ++ preset.after).map(_ + ".").toSeq
    valuesIn(event).map { case (path, alone) => rows.find(path.startsWith).fold(path)(path.stripPrefix) -> alone }
  }

  /** The columns of the events: of their schemas, else of the rows' own fields. */
  private def rowColumns: Seq[(String, Value)] = {
    val events = ofTable
    val found  = events.groupBy(Schema).agg(first(when(col(Schema).isNotNull, col(Raw))), collect_set(Names)).collect()
    val schemas =
      found.filterNot(_.isNullAt(0)).flatMap(row => schemaOf(row.getString(1)).map(row.getLong(0) -> _)).toMap
    val described =
      ConnectTypes.imageFields(schemas, if (preset.after.isEmpty) Some(preset.header.map(_._1).toSet) else None)
    val names = found.toSeq.flatMap(_.getSeq[String](2)).map(_.split('\n').toSeq)
    // Of a flat event, what is no row has none of the header's fields.
    val isRow = (fields: Seq[String]) =>
      !preset.isFlat || preset.rowPrefixes.isEmpty || fields.exists(field => preset.header.exists(_._1 == field))
    val bare                   = names.filter(isRow).flatten.distinct.sorted
    val applied                = known.applied((described.map(_._1) ++ bare).distinct.filter(preset.isRowColumn))
    val fields                 = described.toMap
    val rest                   = inTableOrder(applied.filterNot(fields.contains))
    val types                  = namedTypes(events, applied.filterNot(fields.contains))
    def typeOf(column: String) = known.typeOf(column).orElse(types.get(column))
    applied.filter(fields.contains).map(column =>
      column -> ConnectTypes.valueOf(column, fields(column), known, preset)) ++
      rest.flatMap(column => typeOf(column).map(column -> Fitting.byTable(_, preset))) ++
      inferred(events, applied.filterNot(fields.contains).filter(typeOf(_).isEmpty))
  }

  private def inTableOrder(columns: Seq[String]): Seq[String] = {
    val order = known.schema.fieldNames.zipWithIndex.toMap
    columns.sortBy(column => (order.getOrElse(column, order.size), column))
  }

  /** The events of the source's table that is named, and those that name none: other tables have other columns. */
  private def ofTable: DataFrame =
    (known.sourceTable, preset.sourceTable) match {
      case (Some(table), Some(_)) =>
        val header = StructType(structOf(preset.header.map { case (path, kind) => path -> DataType.fromDDL(kind) }))
        val bare   = fromJson(col(Raw), header)
        val inner =
          if (!preset.hasSchema) bare
          else when(col(Wrapped), fromJson(col(Raw), new StructType().add(Payload, header)).getField(Payload))
            .otherwise(bare)
        texts.withColumn(Header, inner).where(!holds(isOtherTable(preset, table))).drop(Header)
      case _ => texts
    }

  /** Types of columns that the events name in a field of the preset. */
  private def namedTypes(events: DataFrame, columns: Seq[String]): Map[String, DataType] =
    preset.types.filter(_ => columns.nonEmpty).fold(Map.empty[String, DataType]) { path =>
      val texts = events.select(get_json_object(col(Raw), s"$$.$path").as("t")).where(col("t").isNotNull).distinct()
      val named = texts.collect().toSeq.flatMap(row =>
        tree(row.getString(0)).filter(_.isObject).toSeq.flatMap(
          _.fields().asScala.map(field => field.getKey -> MySqlTypes.of(field.getValue.asText)).toList))
      named.groupBy(_._1).map { case (column, types) =>
        column -> Fitting.columnType(types.map(_._2), None, widensToString = true, isFixed = false)
      }
    }

  /** Types of columns of which nothing is known: the narrowest that all values of these events have, else a string. */
  private def inferred(events: DataFrame, columns: Seq[String]): Seq[(String, Value)] =
    if (columns.isEmpty) Nil
    else {
      val image = coalesce(imagePaths(preset).map(textAt): _*)
      // A value that is not of a type is null, whatever the others of its row are: each type reads a row once.
      val reads = (StringType +: Narrowest).map(kind =>
        fromJson(image, StructType(columns.map(StructField(_, kind)))).as(kind.simpleString))
      val checks = columns.flatMap { column =>
        val text = col(StringType.simpleString).getField(column)
        max(text.isNotNull) +: min(when(text.isNotNull, text.rlike("^-?[0-9]+$"))) +: Narrowest.map(kind =>
          min(when(text.isNotNull, col(kind.simpleString).getField(column).isNotNull)))
      }
      val found = events.select(reads: _*).agg(checks.head, checks.tail: _*).head()
      columns.zipWithIndex.flatMap { case (column, number) =>
        val start      = number * (2 + Narrowest.size)
        def is(n: Int) = !found.isNullAt(start + n) && found.getBoolean(start + n)
        val narrowest  = Narrowest.indices.find(n => is(2 + n)).fold[DataType](StringType)(Narrowest(_))
        // A double does not have all digits of integers. A column that is null everywhere is added when it has a value.
        val kind = if (narrowest == DoubleType && is(1)) StringType else narrowest
        if (is(0)) Some(column -> Values.same(kind)) else None
      }
    }
}

private[capture] object JsonEvents {
  private val Payload = "payload"

  /** The names of the fields of an event's rows, one a line. */
  private val Names = "__names"

  private val Narrowest                            = Seq[DataType](BooleanType, LongType, DoubleType)
  private def tree(text: String): Option[JsonNode] = Try(Json.readTree(text)).toOption.filter(_ != null)

  private def schemaOf(event: String): Option[JsonNode] = tree(event).map(_.path("schema")).filter(_.isObject)

  /** The events of a frame as text, with what all later steps need to know of each, and more columns. */
  def texts(frame: DataFrame, preset: Preset, more: Seq[Column]): DataFrame = {
    val value  = if (frame.columns.contains("value")) col("value") else named(frame.columns.head)
    val hasKey = EventSource.fieldOf(frame.schema, "key").exists(EventSource.isTextual)
    val key    = if (hasKey) col("key").cast(StringType) else nothing(StringType)
    val read   = frame.select(value.cast(StringType).as(Raw) +: key.as(Key) +: more: _*)
    val kept   = read.columns.toSeq.map(named)
    read.withColumn("o", EventOutline.column(col(Raw), imagePaths(preset))).select(kept ++ Seq(
        col("o.isObject").as(IsObject),
        (if (preset.hasSchema) col("o.isWrapped") else lit(false)).as(Wrapped),
        col("o.hasTrailing").as(Trailing),
        (if (preset.hasSchema) col("o.schema") else nothing(LongType)).as(Schema),
        col("o.names").as(Names)
      ): _*)
  }

  private def imagePaths(preset: Preset): Seq[String] = preset.rows match {
    case Some(rows) => Seq(s"$rows[0]")
    case None       => preset.after.fold(Seq(""))(_ +: preset.before.toSeq)
  }

  /** Whether an event is of another table; a name may be given by its last parts. */
  def isOtherTable(preset: Preset, table: String): Column = {
    val own = nullif(expr(preset.sourceTable.get), lit(""))
    own =!= table && !endswith(own, lit(s".$table"))
  }

  /** An event, whose values may be malformed. */
  private def json(text: Column, schema: StructType): Column =
    fromJson(text, schema.add(Corrupt, StringType),
      Map("mode" -> "PERMISSIVE", "columnNameOfCorruptRecord" -> Corrupt))

  /**
   * The places of the values that make an event's text malformed; null if there are none. Each value is parsed by
   * itself: for few events.
   */
  def malformedPlaces(event: Column, places: Seq[(String, StructType)], preset: Preset): Column = {
    val isWrapped = EventOutline.column(event, Nil).getField("isWrapped")
    val found = places.map { case (place, alone) =>
      val bare    = json(event, alone).getField(Corrupt)
      val wrapped = json(event, new StructType().add(Payload, alone)).getField(Corrupt)
      when((if (preset.hasSchema) when(isWrapped, wrapped).otherwise(bare) else bare).isNotNull, place)
    }
    if (found.isEmpty) nothing(StringType) else nullif(concat_ws(", ", found: _*), lit(""))
  }

  /** The key columns that events name: in their `key`, or in the preset's field for them. */
  def keyFields(texts: DataFrame, preset: Preset): Seq[String] = {
    val sample = preset.recordKey.fold(col(Key))(path => get_json_object(col(Raw), s"$$.$path"))
    val row    = texts.select(sample.as("k")).where(col("k").isNotNull).limit(1).collect().headOption
    row.flatMap(found => tree(found.getString(0))).fold(Seq.empty[String]) { found =>
      def isWrapper = found.has(Payload) && found.fieldNames().asScala.forall(Set("schema", Payload))
      if (found.isArray) found.elements().asScala.map(_.asText).toList
      else (if (isWrapper) found.path(Payload) else found).fieldNames().asScala.toList
    }
  }

  private def textAt(path: String): Column = {
    val below = if (path.isEmpty) "" else s".$path"
    when(col(Wrapped), get_json_object(col(Raw), s"$$.$Payload$below")).otherwise(
      get_json_object(col(Raw), s"$$$below"))
  }

  private def structOf(leaves: Seq[(String, DataType)]): Seq[StructField] =
    nested(leaves)(fields => StructType(fields.map { case (name, kind) => StructField(name, kind) }))
      .map { case (name, kind) => StructField(name, kind) }

  /** The paths of the values in a struct, each with the struct that has it alone. */
  private def valuesIn(struct: StructType): Seq[(String, StructType)] = struct.flatMap { field =>
    def below(inner: StructType, own: String)(wrapped: StructType => DataType) =
      valuesIn(inner).map { case (path, alone) => s"$own.$path" -> new StructType().add(field.name, wrapped(alone)) }
    field.dataType match {
      case inner: StructType               => below(inner, field.name)(identity)
      case ArrayType(inner: StructType, _) => below(inner, s"${field.name}[]")(ArrayType(_))
      case _                               => Seq(field.name -> StructType(Seq(field)))
    }
  }
}
