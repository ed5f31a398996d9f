package io.merganser.spark.read

import io.merganser.spark.OpenTable
import io.merganser.table.config.TableConfig
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._

/**
 * Leaves out slices whose partition path shows that no row can pass a filter.
 *
 * Only paths that hold the column's value as text are looked at: one level a field, of type string, integer, boolean or date.
 */
final case class PartitionPruning(table: OpenTable) {
  private val config = table.config
  private val fields: Seq[StructField] = config.partitionFieldTypes.map { case (name, kind) =>
    val isPlain = kind.equalsIgnoreCase("SIMPLE") && table.schema.fieldNames.contains(name)
    if (isPlain) table.schema(name) else StructField(name, NullType)
  }
  private val canPrune = fields.nonEmpty && !config.keyGeneratorType.toUpperCase(java.util.Locale.ROOT).startsWith("TIMESTAMP")

  def prune(slices: Seq[FileSlice], filters: Seq[Filter]): Seq[FileSlice] =
    if (!canPrune || filters.isEmpty) slices
    else {
      val kept = slices.map(_.partitionPath).distinct.filter { path =>
        values(path).forall(known => filters.forall(f => !PartitionPruning.isNeverTrue(f, known)))
      }.toSet
      slices.filter(s => kept(s.partitionPath))
    }

  /** Values of the partition columns, in Scala form, where the path tells them; None if it has another shape. */
  private[read] def values(path: String): Option[Map[String, Any]] = {
    val levels = path.split("/", -1)
    if (!canPrune || levels.length != fields.length) None
    else Some(fields.zip(levels).flatMap { case (field, level) => value(field, level).map(field.name -> _) }.toMap)
  }

  private def value(field: StructField, level: String): Option[Any] = {
    val text   = PartitionPruning.valueOf(config, level, field.name)
    val isText = text != "__HIVE_DEFAULT_PARTITION__" && text != "default" && text != "__null__"
    field.dataType match {
      case StringType if isText => Some(if (config.urlEncode) PartitionPruning.unescape(text) else text)
      case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType if isText =>
        Option(Cast(Literal(text), field.dataType, Some("UTC")).eval()).map(CatalystTypeConverters.convertToScala(_, field.dataType))
      case _ => None
    }
  }
}

object PartitionPruning {

  /** True only if the filter is false or null for every row with these column values; columns not among them may be anything. */
  def isNeverTrue(filter: Filter, known: Map[String, Any]): Boolean = filter match {
    case EqualTo(a, v)            => known.get(a).exists(x => compare(x, v).exists(_ != 0))
    case EqualNullSafe(a, v)      => known.get(a).exists(x => v == null || compare(x, v).exists(_ != 0))
    case In(a, vs)                => known.get(a).exists(x => vs.forall(v => v == null || compare(x, v).exists(_ != 0)))
    case GreaterThan(a, v)        => known.get(a).exists(x => compare(x, v).exists(_ <= 0))
    case GreaterThanOrEqual(a, v) => known.get(a).exists(x => compare(x, v).exists(_ < 0))
    case LessThan(a, v)           => known.get(a).exists(x => compare(x, v).exists(_ >= 0))
    case LessThanOrEqual(a, v)    => known.get(a).exists(x => compare(x, v).exists(_ > 0))
    case StringStartsWith(a, p)   => known.get(a).exists { case s: String => !s.startsWith(p); case _ => false }
    case IsNull(a)                => known.contains(a)
    case And(l, r)                => isNeverTrue(l, known) || isNeverTrue(r, known)
    case Or(l, r)                 => isNeverTrue(l, known) && isNeverTrue(r, known)
    case Not(EqualTo(a, v))       => known.get(a).exists(x => compare(x, v).contains(0))
    case _                        => false
  }

  /** None if the two are not comparable here: then nothing is pruned. */
  private def compare(a: Any, b: Any): Option[Int] = (a, b) match {
    case (x: String, y: String) =>
      Some(org.apache.spark.unsafe.types.UTF8String.fromString(x).compareTo(org.apache.spark.unsafe.types.UTF8String.fromString(y)))
    case (x: java.lang.Boolean, y: java.lang.Boolean)     => Some(x.compareTo(y))
    case (x: java.lang.Number, y: java.lang.Number)       => Some(java.lang.Long.compare(x.longValue, y.longValue))
    case (x: java.sql.Date, y: java.sql.Date)             => Some(x.compareTo(y))
    case (x: java.time.LocalDate, y: java.time.LocalDate) => Some(x.compareTo(y))
    case (x: java.sql.Date, y: java.time.LocalDate)       => Some(x.toLocalDate.compareTo(y))
    case (x: java.time.LocalDate, y: java.sql.Date)       => Some(x.compareTo(y.toLocalDate))
    case _                                                => None
  }

  /** What a level of a path holds of a column. */
  private[spark] def valueOf(config: TableConfig, level: String, name: String): String =
    if (config.hiveStyle) level.stripPrefix(s"$name=") else level

  private[spark] def unescape(text: String): String =
    "%([0-9A-F]{2})".r.replaceAllIn(text, m => java.util.regex.Matcher.quoteReplacement(Integer.parseInt(m.group(1), 16).toChar.toString))
}
