package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.OpenTable
import io.merganser.spark.read.PartitionPruning
import io.merganser.spark.write.KeyText
import io.merganser.table.config.{FrameCheck, Options}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The values of a table's partition columns, read back from partition paths.
 *
 * A level made by a time format does not hold its column's value: it counts as a string, as it stands in the path.
 */
final class PartitionValues(table: OpenTable) {
  private val config        = table.config
  private val isLogicalTime = config.properties.get(Options.LogicalTimestamp.key).exists(_.trim.equalsIgnoreCase("true"))
  private val formatted     = config.partitionFieldTypes.collect { case (name, kind) if kind.equalsIgnoreCase("TIMESTAMP") => name }.toSet

  /** One column a level. Texts of any length are strings here. */
  val columns: StructType = StructType(config.partitionFieldTypes.map { case (name, _) =>
    val found = FrameCheck.find(table.schema, name)
      .getOrElse(throw new IllegalStateException(s"partition column '$name' of '${config.name}' is no column of it"))
    StructField(if (name.contains('.')) name else found.name, if (formatted(name)) StringType else found.dataType)
  })

  /** Paths of the partitions that hold anything now, with their values. */
  def all: Seq[(String, InternalRow)] =
    table.view.slices.map(_.partitionPath).distinct.sorted.map(path => path -> of(path))

  /**
   * The values that a path tells, in the order of [[columns]].
   *
   * @throws MerganserException PARTITION_VALUES_UNKNOWN if it has another shape
   */
  def of(path: String): InternalRow = {
    def unknown = MerganserException("PARTITION_VALUES_UNKNOWN", "table" -> config.name, "path" -> path,
      "columns" -> columns.fieldNames.mkString(", "))
    val levels = levelsOf(path).getOrElse(throw unknown)
    try InternalRow.fromSeq(columns.fields.toSeq.zip(levels).map { case (column, level) => value(column.dataType, level) })
    catch { case e @ (_: NumberFormatException | _: IllegalArgumentException) => throw unknown.causedBy(e) }
  }

  /**
   * Tells which paths fulfil a condition on partition columns.
   *
   * @throws MerganserException OVERWRITE_CONDITION_UNSUPPORTED for a condition on anything else
   */
  def matching(condition: Expression): String => Boolean = {
    val bound = condition.transform {
      case replaced: RuntimeReplaceable => replaced.replacement
    }.transform {
      case column: Attribute =>
        val at = columns.fieldNames.indexWhere(_.equalsIgnoreCase(column.name))
        if (at < 0 || formatted.exists(_.equalsIgnoreCase(column.name))) throw unsupported(condition)
        BoundReference(at, columns(at).dataType, nullable = true)
    }
    if (!bound.deterministic || bound.exists(e => e.isInstanceOf[Unevaluable] || e.isInstanceOf[PlanExpression[_]]))
      throw unsupported(condition)
    val predicate = Predicate.createInterpreted(bound)
    path => predicate.eval(of(path))
  }

  private def levelsOf(path: String): Option[Seq[String]] = {
    val names = columns.fieldNames.toSeq
    if (names.size == 1) Some(Seq(PartitionPruning.valueOf(config, path, names.head)))
    else {
      val parts = path.split("/", -1).toSeq
      if (parts.size == names.size) Some(parts.zip(names).map { case (part, name) => PartitionPruning.valueOf(config, part, name) })
      else None
    }
  }

  private def value(dataType: DataType, level: String): Any =
    if (level == KeyText.DefaultPartition.toString) null
    else {
      val text = if (config.urlEncode) PartitionPruning.unescape(level) else level
      dataType match {
        case StringType                       => UTF8String.fromString(text)
        case TimestampType if isLogicalTime   => java.sql.Timestamp.valueOf(text).getTime * 1000L
        case TimestampType | TimestampNTZType => text.toLong
        case other =>
          val found = Cast(Literal(text), other, Some("UTC"), EvalMode.LEGACY).eval()
          if (found == null) throw new IllegalArgumentException(text)
          found
      }
    }

  private def unsupported(condition: Expression): MerganserException =
    MerganserException("OVERWRITE_CONDITION_UNSUPPORTED", "table" -> config.name, "condition" -> condition.sql,
      "columns" -> (if (columns.isEmpty) "none" else columns.fieldNames.mkString(", ")))
}
