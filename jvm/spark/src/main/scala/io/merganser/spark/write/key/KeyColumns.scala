package io.merganser.spark.write.key

import io.merganser.merge.MerganserException
import io.merganser.table.options.Names.quoted
import io.merganser.table.options.{Names, Options}
import io.merganser.table.properties.{PartitionField, PartitionKind, TableConfig}
import io.merganser.table.schema.FrameCheck
import io.merganser.table.settings.KeyGenerator
import io.merganser.table.slice.RowKey
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, BindReferences, Expression, Literal}
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.catalyst.plans.logical.Project
import org.apache.spark.sql.functions.{coalesce, col, concat, lit, translate, when}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * How keys and paths are formatted as strings, where tables differ.
 *
 * @param namedSingleKey    COMPLEX generator with one key column: `id:1`, not `1`
 * @param logicalTimestamps timestamps as `2024-01-02 03:04:05.678`, not as microseconds since 1970
 * @param timestampLevels   timestamps in partition paths
 */
final case class KeyForm(namedSingleKey: Boolean, logicalTimestamps: Boolean, timestampLevels: TimestampLevel)

object KeyForm {

  /** Of a write's settings alone: the form of timestamps in the table's partition paths. */
  private[write] val TimestampLevels = "merganser.partition.timestamps"

  /** From the table's properties. */
  def of(config: TableConfig): KeyForm = {
    def flag(key: String) = config.properties.get(key).exists(_.trim.equalsIgnoreCase("true"))
    val logicalTimestamps = flag(Options.LogicalTimestamp.key)
    def byKeys            = if (logicalTimestamps) TimestampLevel.Logical else TimestampLevel.Micros
    KeyForm(
      namedSingleKey = config.version >= 9 || !flag(Options.ComplexKeyWithoutName.key),
      logicalTimestamps = logicalTimestamps,
      timestampLevels = config.properties.get(TimestampLevels).flatMap(TimestampLevel.named).getOrElse(byKeys)
    )
  }
}

/** Record key and partition path as columns, computed by generated code. */
object KeyColumns {

  /**
   * The record key as a string; null if a single key is null or empty, or if every part of a composite key is.
   *
   * @param config table whose key this is
   * @param schema columns of the rows
   */
  def recordKey(config: TableConfig, schema: StructType): Column = recordKey(config, schema, KeyForm.of(config))

  def recordKey(config: TableConfig, schema: StructType, form: KeyForm): Column = {
    val fields = config.recordKeyFields
    val single = isPlain(config, form)
    val values = fields.map(field => asString(schema, field, form))
    val absent = values.map(t => t.isNull || t === lit("")).reduce(_ && _)
    val key =
      if (single) values.head
      else {
        val parts = fields.zip(values).map { case (field, t) => concat(lit(s"$field:"), static("part", t)) }
        parts.reduce((a, b) => concat(a, lit(","), b))
      }
    when(absent, lit(null).cast(StringType)).otherwise(key)
  }

  /**
   * The record key of a row, in each form that writers may have given it.
   *
   * @param values of the key columns, as strings; none is null
   */
  private[spark] def forms(config: TableConfig, values: Seq[String]): Seq[String] = {
    val named = config.recordKeyFields.zip(values).map { case (field, value) =>
      s"$field:${KeyStrings.part(UTF8String.fromString(value))}"
    }.mkString(",")
    if (values.size == 1) Seq(values.head, named) else Seq(named)
  }

  /** Whether a record key is the value of one column, without its name. */
  private def isPlain(config: TableConfig, form: KeyForm): Boolean = {
    def named = KeyGenerator.stored(config) match {
      case KeyGenerator.Complex      => form.namedSingleKey
      case KeyGenerator.GlobalDelete => true
      case _                         => false
    }
    config.recordKeyFields.size == 1 && !named
  }

  /** What all record keys of the table begin with; empty if that depends on their values. */
  private[write] def start(config: TableConfig): String =
    if (config.recordKeyFields.isEmpty || isPlain(config, KeyForm.of(config))) ""
    else s"${config.recordKeyFields.head}:"

  /**
   * The partition path, relative to the table; empty for a table without partitions.
   *
   * @throws MerganserException PARTITION_KIND_UNKNOWN, TIMESTAMP_FORMAT_MISSING
   */
  def partitionPath(config: TableConfig, schema: StructType): Column = partitionPath(config, schema, KeyForm.of(config))

  def partitionPath(config: TableConfig, schema: StructType, form: KeyForm): Column = {
    val levels = config.partitionSpec.map { case PartitionField(field, kind) =>
      if (kind == PartitionKind.Unknown) throw unknownKind(config, field)
      val isFormatted = kind == PartitionKind.Timestamp
      val isSeconds   = !isFormatted && form.timestampLevels == TimestampLevel.Seconds && isTimestamp(schema, field)
      val value =
        if (isFormatted) time(config, schema, field)
        else if (isSeconds) static("seconds", column(schema, field)._1)
        else asString(schema, field, form.copy(logicalTimestamps = form.timestampLevels == TimestampLevel.Logical))
      val plain = static(if (config.urlEncode || isSeconds) "encodedLevel" else "level", value)
      val level = if (config.hasSlashedDates) translate(plain, "-", "/") else plain
      if (config.hiveStyle) concat(lit(s"$field="), level) else level
    }
    if (levels.isEmpty) lit("") else static("checkedPath", levels.reduce((a, b) => concat(a, lit("/"), b)))
  }

  private def unknownKind(config: TableConfig, field: String): MerganserException = {
    KeyGenerator.stored(config) // with a user's own, no kind would help
    MerganserException("PARTITION_KIND_UNKNOWN", "table" -> config.name, "field" -> field,
      "key" -> Options.PartitionFields.key,
      "example" -> config.partitionFields.map(f => s"$f:SIMPLE").mkString(","))
  }

  /**
   * The partition path of a row as an expression over it.
   *
   * @param data the table's data columns
   * @param rows columns of the row, including the data columns
   */
  private[spark] def pathOf(
      session: SparkSession,
      config: TableConfig,
      data: StructType,
      rows: StructType
  ): Expression = bound(session, partitionPath(config, data), rows)

  /** The record key of a row likewise. */
  private[spark] def keyOf(
      session: SparkSession,
      config: TableConfig,
      data: StructType,
      rows: StructType
  ): Expression = bound(session, recordKey(config, data), rows)

  private def bound(session: SparkSession, value: Column, rows: StructType): Expression = {
    val (expression, columns) = resolved(session, value, rows)
    BindReferences.bindReference(expression, columns)
  }

  /**
   * The record key of a stored row.
   *
   * @param data the table's data columns
   */
  private[spark] def ofRow(session: SparkSession, config: TableConfig, data: StructType): RowKey = {
    val (key, _) = resolved(session, recordKey(config, data), data)
    RowKey(key, StructType(data.filter(field => key.references.exists(_.name == field.name))))
  }

  /** The string column as an expression over the attributes of a row. */
  private def resolved(session: SparkSession, column: Column, rows: StructType): (Expression, Seq[Attribute]) = {
    val frame = SparkBridge.internalCreateDataFrame(session, session.sparkContext.emptyRDD[InternalRow], rows)
    frame.select(column.cast(StringType).as("value")).queryExecution.analyzed match {
      case Project(Seq(Alias(expression, _)), child) => (expression, child.output)
      case other => throw new IllegalStateException(s"unexpected plan of a key or path: $other")
    }
  }

  /** The column, or the field of a struct column, that a table's property names. */
  private def column(schema: StructType, field: String): (Column, DataType) = {
    val found = FrameCheck.find(schema, field)
      .getOrElse(throw new IllegalStateException(s"no column '$field' among ${schema.fieldNames.mkString(", ")}"))
    val topLevel = schema.fieldNames.exists(_.equalsIgnoreCase(field))
    val name     = if (topLevel) quoted(found.name) else Names.quotedPath(field)
    (col(name), found.dataType)
  }

  private[key] def typeOf(schema: StructType, field: String): DataType = column(schema, field)._2

  /** The column, which is no timestamp or decimal, as a string. */
  private[key] def stringOf(schema: StructType, field: String): Column = column(schema, field)._1.cast(StringType)

  /** Whether a level of the path may be in one of several forms. */
  private[spark] def isTimestamp(schema: StructType, field: String): Boolean =
    FrameCheck.find(schema, field).exists(_.dataType == TimestampType)

  private def asString(schema: StructType, field: String, form: KeyForm): Column = {
    val (value, dataType) = column(schema, field)
    dataType match {
      case TimestampType if form.logicalTimestamps => static("timestamp", value)
      case TimestampType | TimestampNTZType        => static("micros", value)
      case _: DecimalType                          => static("decimal", value)
      case _                                       => value.cast(StringType)
    }
  }

  /** A time-based level; null counts as one millisecond after the epoch. */
  private def time(config: TableConfig, schema: StructType, field: String): Column = {
    val (value, dataType) = column(schema, field)
    val time              = PartitionTime(field, config)
    val formatted = dataType match {
      case TimestampType | TimestampNTZType          => invoke(time, "ofMicros", value)
      case DateType                                  => invoke(time, "ofDays", value)
      case StringType | _: CharType | _: VarcharType => invoke(time, "ofText", value.cast(StringType))
      case _                                         => invoke(time, "ofNumber", value.cast(LongType))
    }
    coalesce(formatted, lit(time.ofMillis(1L).toString))
  }

  private val nullProof = Set("part", "level", "encodedLevel")

  private def static(function: String, arguments: Column*): Column = SparkBridge.column(
    StaticInvoke(KeyStrings.getClass, StringType, function, arguments.map(SparkBridge.expression).toSeq,
      propagateNull = !nullProof(function))
  )

  private def invoke(target: PartitionTime, function: String, argument: Column): Column = SparkBridge.column(
    Invoke(Literal.create(target, ObjectType(classOf[PartitionTime])), function, StringType,
      Seq(SparkBridge.expression(argument)))
  )
}
