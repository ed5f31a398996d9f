package io.merganser.spark.capture

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.spark.capture.Expressions._
import io.merganser.spark.capture.Values._
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

import java.util.Locale
import scala.collection.JavaConverters._
import scala.collection.mutable

/** Column types from the `schema` that Kafka Connect's JSON converter writes beside each event. */
private[capture] object ConnectTypes {

  private val Plain: Map[String, DataType] = Map(
    "boolean" -> BooleanType,
    "int8" -> IntegerType,
    "int16" -> IntegerType,
    "int32" -> IntegerType,
    "int64" -> LongType,
    "float" -> FloatType,
    "float32" -> FloatType,
    "double" -> DoubleType,
    "float64" -> DoubleType
  )

  private val Connect  = "org.apache.kafka.connect.data"
  private val Debezium = "io.debezium.time"

  private val Times = Map(s"$Debezium.Time" -> "millis", s"$Connect.Time" -> "millis",
    s"$Debezium.MicroTime" -> "micros", s"$Debezium.NanoTime" -> "nanos")

  private val Timestamps = Map(s"$Debezium.Timestamp" -> "millis", s"$Connect.Timestamp" -> "millis",
    s"$Debezium.MicroTimestamp" -> "micros", s"$Debezium.NanoTimestamp" -> "nanos")

  private val Dates = Set(s"$Debezium.Date", s"$Connect.Date")

  /**
   * The columns of the row images, in their order, each with the field that describes it in each schema.
   *
   * @param schemas the `schema` of events by its number. Those of heartbeats, transactions and changes of the schema,
   *                which have no row, are ignored
   * @param flat    for flattened events, the fields of which they have some that are no columns; None for envelopes
   */
  def imageFields(schemas: Map[Long, JsonNode], flat: Option[Set[String]]): Seq[(String, Seq[(Long, JsonNode)])] = {
    val found = mutable.LinkedHashMap.empty[String, mutable.LinkedHashMap[Long, JsonNode]]
    for {
      (number, schema) <- schemas.toSeq.sortBy(_._2.toString)
      fields = items(schema, "fields")
      image <- flat match {
        case Some(own) => if (fields.exists(field => own(name(field)))) Seq(schema) else Nil
        case None      => fields.filter(field => name(field) == "after" || name(field) == "before").sortBy(name)
      }
      field <- items(image, "fields")
    } found.getOrElseUpdate(name(field), mutable.LinkedHashMap.empty)(number) = field
    found.toList.map { case (column, described) => column -> described.toList }
  }

  private def name(field: JsonNode): String                    = field.path("field").asText
  private def items(node: JsonNode, of: String): Seq[JsonNode] = node.path(of).elements().asScala.toList

  /**
   * The conversion of a column. Where its type changed at the source, or is not that of the table, the column gets a
   * type that has both, if a write to the table can give it that. A value that does not fit into the column's type
   * becomes null, which is refused.
   *
   * @param fields the field that describes it, by the number of the schema
   */
  def valueOf(column: String, fields: Seq[(Long, JsonNode)], known: Known, preset: Preset): Value = {
    val table   = known.typeOf(column)
    val options = fields.map { case (number, field) => number -> value(field, table, preset.placeholder) }
    val target = table.filterNot(_ => known.widens(column)).getOrElse(
      Fitting.columnType(options.map(_._2.target).distinct, table, known.evolution == "tostring",
        known.isFixed(column)))
    if (options.map { case (_, one) => (one.form, one.wire) }.distinct.size == 1)
      Fitting.fitted(options.head._2, target, preset)
    else Fitting.mixed(options, target, preset)
  }

  private def value(field: JsonNode, table: Option[DataType], placeholder: Option[String]): Value = {
    val meaning = field.path("name").asText("")
    field.path("type").asText match {
      case _ if meaning == s"$Connect.Decimal"                     => decimal(field, table, placeholder)
      case _ if meaning == "io.debezium.data.VariableScaleDecimal" => variableScale(table, placeholder)
      case _ if Dates(meaning)                                     => dateOfDays
      case _ if Timestamps.contains(meaning)                       => wallClock(Timestamps(meaning), table)
      case _ if Times.contains(meaning)                            => timeOfDay(Times(meaning))
      case _ if meaning == s"$Debezium.ZonedTimestamp" =>
        Value(StringType, TimestampType, "zoned",
          text => let(tryCast(text, TimestampType))(time => inYears(unix_micros(time), time)), isText(placeholder))
      case "bytes" => binary(placeholder)
      case "array" => arrayOf(field.path("items"), table, placeholder)
      case "map" =>
        def of(part: String) = value(field.path(part), None, placeholder).wire
        same(MapType(of("keys"), of("values")))
      case "struct" =>
        same(StructType(items(field, "fields").map(one => StructField(name(one), value(one, None, placeholder).wire))))
      case other => same(Plain.getOrElse(other, StringType))
    }
  }

  private def decimal(field: JsonNode, table: Option[DataType], placeholder: Option[String]): Value = {
    val parameters = field.path("parameters")
    val scale      = parameters.path("scale").asInt(0)
    val known      = parameters.path("connect.decimal.precision").asInt(0)
    val precision  = math.min(38, math.max(if (known == 0) 38 else known, math.max(scale, 1)))
    // Without a precision the digits are what the table has room for.
    val target = table.collect { case own: DecimalType if known == 0 => own }
      .getOrElse(DecimalType(precision, math.min(math.max(scale, 0), 38)))
    decimalOfBase64(target, scale,
      placeholder.map(mark => (text: Column) => text.isin(mark, base64Of(mark))))
  }

  private def base64Of(text: String): String = java.util.Base64.getEncoder.encodeToString(text.getBytes("UTF-8"))

  private def arrayOf(items: JsonNode, table: Option[DataType], placeholder: Option[String]): Value = {
    val wanted              = table.collect { case ArrayType(element, _) => element }
    val item                = value(items, wanted, placeholder)
    val form                = if (item.isConverted) s"array of ${item.form}" else ""
    def isLost(one: Column) = one.isNotNull && item.convert(one).isNull
    Value(ArrayType(item.wire), ArrayType(item.target), form,
      given =>
        if (item.isConverted) when(!holds(exists(given, isLost)), transform(given, item.convert)) else given)
  }

  /** A number without precision: an exact string, unless the table's column is a decimal. */
  private def variableScale(table: Option[DataType], placeholder: Option[String]): Value = {
    val wire = new StructType().add("scale", IntegerType).add("value", StringType)
    def exact(given: Column) = {
      val scale = given.getField("scale")
      val whole = unscaled(ofBase64(given.getField("value")), DecimalType(38, 0), 0).cast(StringType)
      let(whole) { number =>
        val digits = replace(number, lit("-"), lit(""))
        val padded = call_function("lpad", digits, greatest(scale + 1, length(digits)), lit("0"))
        concat(when(number.startsWith("-"), "-").otherwise(""),
          when(scale <= 0, concat(digits, call_function("repeat", lit("0"), -scale)))
            .otherwise(let(padded)(withPoint(_, scale))))
      }
    }
    val mark = placeholder.map(text => (given: Column) => given.getField("value") === base64Of(text))
    table match {
      case Some(own: DecimalType) => Value(wire, own, s"variable ${own.sql}", given => tryCast(exact(given), own), mark)
      case _                      => Value(wire, StringType, "variable", exact, mark)
    }
  }
}

/** Column types from MySQL's names of them, such as `decimal(10,2) unsigned`, and those as DDL has them. */
private[capture] object MySqlTypes {
  private val Name = """([a-z ]+?)\s*(?:\((\d+)(?:\s*,\s*(\d+))?\))?( unsigned)?(?![a-z]).*""".r

  private val Types: Map[String, DataType] = Seq(
    BinaryType -> Seq("binary", "blob", "longblob", "mediumblob", "tinyblob", "varbinary"),
    BooleanType -> Seq("bool", "boolean"),
    DateType -> Seq("date"),
    DecimalType(20, 0) -> Seq("serial"), // another name of bigint unsigned
    DoubleType -> Seq("double", "real"),
    FloatType -> Seq("float"),
    IntegerType -> Seq("int", "integer", "mediumint", "smallint", "tinyint", "year"),
    LongType -> Seq("bigint", "bit"),
    TimestampNTZType -> Seq("datetime", "timestamp") // without a zone in these events
  ).flatMap { case (dataType, names) => names.map(_ -> dataType) }.toMap

  /** The type of a column; a string for those that Spark does not have. */
  def of(name: String): DataType = name.toLowerCase(Locale.ROOT) match {
    case Name("decimal" | "dec" | "fixed" | "numeric", size, scale, _) =>
      def digits(text: String, default: Int) = math.min(38, Option(text).fold(default)(_.toInt))
      DecimalType(digits(size, 10), digits(scale, 0))
    case Name("int" | "integer", _, _, unsigned) if unsigned != null => LongType
    case Name("bigint", _, _, unsigned) if unsigned != null          => DecimalType(20, 0)
    case Name(other, _, _, _)                                        => Types.getOrElse(other.trim, StringType)
    case _                                                           => StringType
  }
}
