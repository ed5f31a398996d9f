package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.types.{StringType, StructField, TimestampNTZType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/** Values of partition columns, from partition paths. */
private[slice] object PathValues {

  private val Null = "__HIVE_DEFAULT_PARTITION__"

  /**
   * One string for each partition column; null for the level that null and the empty string have. A single column has
   * the whole path, also one of several levels.
   *
   * @throws MerganserException PARTITION_VALUES_NOT_IN_PATH if the path has other levels than the table has columns
   */
  def of(config: TableConfig, path: String): Seq[UTF8String] = {
    val names  = config.partitionFields
    val levels = if (names.size == 1) Seq(path) else path.split("/", -1).toSeq
    if (levels.size != names.size)
      throw unknown(config, path, names.mkString(", "))
    levels.zip(names).map { case (level, name) =>
      val text  = if (config.hiveStyle) level.stripPrefix(s"$name=") else level
      val plain = if (config.urlEncode) ExternalCatalogUtils.unescapePathName(text) else text
      if (text == Null) null
      else UTF8String.fromString(if (config.hasSlashedDates) plain.replace('/', '-') else plain)
    }
  }

  /**
   * The value of one column, in Catalyst form.
   *
   * @param text one of [[of]]
   * @throws MerganserException PARTITION_VALUES_NOT_IN_PATH if it is no value of the type
   */
  def typed(config: TableConfig, path: String, column: StructField, text: UTF8String): Any = {
    def unreadable = unknown(config, path, s"${column.name} ${column.dataType.catalogString}")
    if (text == null || column.dataType == StringType) text
    else
      try {
        val found = column.dataType match {
          case TimestampType    => PathTimes.micros(text.toString)
          case TimestampNTZType => text.toString.toLong
          case other            => Cast(Literal(text, StringType), other, Some("UTC"), EvalMode.LEGACY).eval()
        }
        if (found == null) throw unreadable else found
      } catch { case e: IllegalArgumentException => throw unreadable.causedBy(e) }
  }

  private def unknown(config: TableConfig, path: String, columns: String) =
    MerganserException("PARTITION_VALUES_NOT_IN_PATH", "table" -> config.name, "path" -> path, "columns" -> columns)
}
