package io.merganser.merge.laws

import io.merganser.merge.{RowLayout, Version}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._

import java.time.{Instant, LocalDate, ZoneOffset}
import java.time.temporal.ChronoUnit

/**
 * Versions as texts: two that are the same row, or the same delete, of a table have the same.
 *
 * @param hidden positions of columns that are not shown
 */
final class ShownVersions(layout: RowLayout, hidden: Set[Int]) {
  private val fields = layout.schema.fields

  /** Names of the columns that are shown. */
  val columns: Seq[String] = fields.indices.filterNot(hidden).map(fields(_).name)

  private val ordering = layout.orderingOrdinals.map(fields(_).name).toSeq.distinct

  /** @param shown names of columns; a delete shows its ordering columns among them, if it has an ordering value */
  def text(version: Version, shown: Seq[String] = columns): String = {
    def values(names: Seq[String]) = names.map(name => s" $name=${value(version.row, name)}").mkString
    if (version.isUnconditional) "delete without an ordering value"
    else if (version.isDelete) s"delete${values(ordering.filter(shown.contains))}"
    else s"row${values(shown)}"
  }

  def text(sample: VersionSample, shown: Seq[String]): String = text(sample.version(layout), shown)

  /** The columns that have a value in one of the versions. */
  def used(samples: Seq[VersionSample]): Seq[String] =
    columns.filter(name => samples.exists(_.values(layout.schema.fieldIndex(name)) != null))

  private def value(row: InternalRow, name: String): String = {
    val i = layout.schema.fieldIndex(name)
    ShownVersions.text(RowLayout.valueAt(row, i, fields(i).dataType), fields(i).dataType)
  }
}

private object ShownVersions {

  def text(value: Any, dataType: DataType): String = (value, dataType) match {
    case (null, _)                                 => "null"
    case (days: Int, DateType)                     => LocalDate.ofEpochDay(days.toLong).toString
    case (micros: Long, TimestampType)             => time(micros).toString
    case (micros: Long, TimestampNTZType)          => time(micros).atZone(ZoneOffset.UTC).toLocalDateTime.toString
    case (bytes: Array[Byte], _)                   => bytes.map(b => f"$b%02x").mkString("0x", "", "")
    case (text, _: StringType)                     => s"'$text'"
    case (array: ArrayData, ArrayType(element, _)) => texts(array, element).mkString("[", ", ", "]")
    case (map: MapData, MapType(key, of, _)) =>
      texts(map.keyArray(), key).zip(texts(map.valueArray(), of)).sorted.map { case (k, v) => s"$k: $v" }
        .mkString("{", ", ", "}")
    case (row: InternalRow, struct: StructType) =>
      struct.indices.map { i =>
        s"${struct(i).name}: ${text(if (row.isNullAt(i)) null else row.get(i, struct(i).dataType), struct(i).dataType)}"
      }.mkString("{", ", ", "}")
    case (other, _) => other.toString
  }

  private def texts(array: ArrayData, element: DataType): Seq[String] =
    (0 until array.numElements()).map(i => text(if (array.isNullAt(i)) null else array.get(i, element), element))

  private def time(micros: Long): Instant = Instant.EPOCH.plus(micros, ChronoUnit.MICROS)
}
