package io.merganser.spark.prune

import io.merganser.merge.MerganserException
import io.merganser.spark.write.key.PartitionTime
import io.merganser.table.properties.{PartitionField, PartitionKind, TableConfig}
import io.merganser.table.schema.FrameCheck
import io.merganser.table.slice.{FileSlice, FoundPartitions, TableView}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, Literal}
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Prunes slices whose partition path shows that no row can pass a filter.
 *
 * A path determines the value of a column of type string, integer, boolean or date, and the range of times of a
 * time-based column, which may be a field inside a struct.
 *
 * @param schema the table's data columns
 */
final case class PartitionPruning(config: TableConfig, schema: StructType) {
  import PartitionPruning._

  private val levels: Seq[Level] = config.partitionSpec.map { case PartitionField(name, kind) =>
    val isTime =
      kind == PartitionKind.Timestamp || config.keyGeneratorType == "TIMESTAMP"
    FrameCheck.find(schema, name) match {
      case field if isTime => timeLevel(name, field)
      case Some(field) if config.hasSlashedDates =>
        Level(name, AllLevels, slashed(field, _), Extent.Open, slashedBelow(field, _))
      case Some(field) if kind == PartitionKind.Simple =>
        Level(name, 1, exactly(field, _), extent(field.dataType), textBelow(field, _))
      case _ => Level(name, 1, _ => None, Extent.Unknown)
    }
  }

  private val folders = new FolderPruning(config, levels, plainPath)

  /** Names of the columns whose values a path may determine. */
  val columns: Seq[String] = levels.map(_.name).filter(schema.fieldNames.contains)

  def prune(slices: Seq[FileSlice], filters: Seq[Filter]): Seq[FileSlice] =
    if (levels.isEmpty || filters.isEmpty) slices
    else {
      val kept = slices.map(_.partitionPath).distinct.filter(mayHold(_, filters)).toSet
      slices.filter(s => kept(s.partitionPath))
    }

  /** Whether a row in a partition may pass. */
  def mayHold(path: String, filters: Seq[Filter]): Boolean =
    levels.isEmpty || filters.isEmpty || shown(path).forall(known => filters.forall(f => !isNeverTrue(f, known)))

  /** Whether a row in a folder, or in any folder below it, may pass: if not, nothing below it need be listed. */
  def mayContain(folder: String, filters: Seq[Filter]): Boolean = folder.isEmpty || filters.isEmpty || {
    val known = folders.known(folder, filters)
    filters.forall(f => !isNeverTrue(f, known))
  }

  /**
   * The partitions that may have rows that pass; other folders are listed only to find these.
   *
   * @param mayHave further condition on a folder, false if no partition in it or below it is needed
   */
  def partitions(view: TableView, filters: Seq[Filter], mayHave: String => Boolean = _ => true): FoundPartitions = {
    val found = named(filters) match {
      case Some(some) => FoundPartitions(view.partitionsAmong(some.filter(mayHave)), skipped = 0)
      case None       => view.partitionsIn(folder => mayContain(folder, filters) && mayHave(folder))
    }
    val kept = found.paths.filter(mayHold(_, filters))
    FoundPartitions(kept, found.skipped + found.paths.size - kept.size)
  }

  /** The folders that alone can have rows that pass, whether they exist or not; None if the filters name none. */
  private[prune] def named(filters: Seq[Filter]): Option[Seq[String]] = folders.named(filters)

  /** What a folder determines of the columns in every partition below it and in itself. */
  private[prune] def below(folder: String): Map[String, PathValue] = folders.known(folder, Nil)

  /** Values of the partition columns that the path determines, in Scala form; None if it has other levels. */
  private[spark] def values(path: String): Option[Map[String, Any]] = shown(path).map(_.collect {
    case (name, Exactly(value)) => name -> value
  })

  private def shown(path: String): Option[Map[String, PathValue]] = {
    val parts   = path.split("/", -1).toSeq
    val isWhole = levels.map(_.count) == Seq(AllLevels)
    if (levels.isEmpty || (!isWhole && parts.length != levels.map(_.count).sum)) None
    else {
      val ends = levels.scanLeft(0)(_ + _.count)
      Some(levels.zip(ends).flatMap { case (level, start) =>
        level.read(level.text(config, parts.slice(start, start + level.count))).map(level.name -> _)
      }.toMap)
    }
  }

  /** A path of a string column as it is written; None where folders and values differ. */
  private def plainPath(name: String, value: String): Option[String] =
    FrameCheck.find(schema, name).filter(_.dataType == StringType).flatMap { _ =>
      val path = if (config.hasSlashedDates) value.replace('-', '/') else value
      if (FolderPruning.isPlain(path, mayHaveSlashes = !config.urlEncode)) Some(path) else None
    }

  /** A string that is not encoded may have slashes of its own. */
  private def extent(dataType: DataType): Extent = dataType match {
    case StringType | BinaryType if !config.urlEncode => Extent.Open
    case _                                            => Extent.Fixed
  }

  private def textBelow(field: StructField, text: String): Option[PathValue] =
    if (field.dataType == StringType && isValue(text)) Some(Below(text)) else None

  private def slashedBelow(field: StructField, path: String): Option[PathValue] = field.dataType match {
    case StringType | DateType if isValue(path) => Some(Slashed(path, isWhole = false))
    case _                                      => None
  }

  private def exactly(field: StructField, text: String): Option[PathValue] = {
    val hasValue = isValue(text)
    field.dataType match {
      case StringType if hasValue => Some(Exactly(text))
      case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType if hasValue =>
        Option(Cast(Literal(text), field.dataType, Some("UTC")).eval())
          .map(value => Exactly(CatalystTypeConverters.convertToScala(value, field.dataType)))
      case _ => None
    }
  }

  /** A string may have slashes of its own where the path has one; a date does not. */
  private def slashed(field: StructField, path: String): Option[PathValue] =
    exactly(field, path.replace('/', '-')).map {
      case Exactly(_: String) => Slashed(path)
      case value              => value
    }

  /** Without a format in the table's properties a path determines nothing: each write has its own format. */
  private def timeLevel(name: String, field: Option[StructField]): Level =
    try {
      val time = PartitionTime(name, config)
      Level(name, if (config.urlEncode) 1 else time.levels, text => field.flatMap(inTime(time, _, text)), Extent.Fixed,
        text => field.flatMap(inTime(time, _, text, isWhole = false)))
    } catch { case _: MerganserException => Level(name, 1, _ => None, Extent.Unknown) }

  private def inTime(
      time: PartitionTime,
      field: StructField,
      text: String,
      isWhole: Boolean = true
  ): Option[PathValue] =
    if (field.dataType == StringType) Some(Formatted(time, text, isWhole))
    else time.rangeOf(text).map { case (start, end) => Within(time, field.dataType, start, end) }
}

object PartitionPruning {

  /**
   * @param count     number of levels of the path that one column has
   * @param read      what these levels determine
   * @param extent    whether a path may have more of them
   * @param readBelow what the first of its levels determine for all paths that begin with them
   */
  private[prune] final case class Level(
      name: String,
      count: Int,
      read: String => Option[PathValue],
      extent: Extent,
      readBelow: String => Option[PathValue] = _ => None
  ) {

    /** The value in some levels, as a string. */
    def text(config: TableConfig, parts: Seq[String]): String = {
      val text = valueOf(config, parts.mkString("/"), name)
      if (config.urlEncode) ExternalCatalogUtils.unescapePathName(text) else text
    }
  }

  /** How many levels of a path a column has. */
  private[prune] sealed trait Extent

  private[prune] object Extent {
    case object Fixed extends Extent

    /** More where its value has slashes. */
    case object Open extends Extent
    case object Unknown extends Extent
  }

  /** In place of a number of levels: one column has the whole path. */
  private final val AllLevels = Int.MaxValue

  private def isValue(text: String): Boolean =
    text != "__HIVE_DEFAULT_PARTITION__" && text != "default" && text != "__null__"

  /** What a path determines of a column. */
  private[spark] sealed trait PathValue

  /** In Scala form. */
  private[spark] final case class Exactly(value: Any) extends PathValue

  /** A time from `startMs` on and before `endMs`, or a null. */
  private[spark] final case class Within(time: PartitionTime, dataType: DataType, startMs: Long, endMs: Long)
      extends PathValue

  /**
   * A string that has this path as a time, or a null.
   *
   * @param isWhole false if the path may go on
   */
  private[spark] final case class Formatted(time: PartitionTime, path: String, isWhole: Boolean = true)
      extends PathValue

  /** This string, or one that begins with it and a slash. */
  private[spark] final case class Below(text: String) extends PathValue

  /**
   * A string or date whose dashes are slashes in this path. The path of a day has only the rows of that date.
   *
   * @param isWhole false if the path may go on
   */
  private[spark] final case class Slashed(path: String, isWhole: Boolean = true) extends PathValue

  private val Day = """\d{4}/\d{2}/\d{2}""".r

  /** The first levels of the path of a day. */
  private val FirstOfDay = """\d{4}(/\d{2}){0,2}""".r

  /** True only if the filter is false or null for every row with these values; other columns may have any value. */
  private[spark] def isNeverTrue(filter: Filter, known: Map[String, PathValue]): Boolean = filter match {
    case EqualTo(a, v)            => known.get(a).exists(differs(_, v))
    case EqualNullSafe(a, null)   => known.get(a).exists(_.isInstanceOf[Exactly])
    case EqualNullSafe(a, v)      => known.get(a).exists(differs(_, v))
    case In(a, vs)                => known.get(a).exists(x => vs.forall(v => v == null || differs(x, v)))
    case GreaterThan(a, v)        => known.get(a).exists(x => compare(x, v).exists(_ <= 0))
    case GreaterThanOrEqual(a, v) => known.get(a).exists(x => compare(x, v).exists(_ < 0))
    case LessThan(a, v)           => known.get(a).exists(x => startsAt(x, v) || compare(x, v).exists(_ >= 0))
    case LessThanOrEqual(a, v)    => known.get(a).exists(x => compare(x, v).exists(_ > 0))
    case StringStartsWith(a, p) => known.get(a).exists {
        case Exactly(s: String) => !s.startsWith(p)
        case Below(text)        => !s"$text/".startsWith(p) && !p.startsWith(s"$text/")
        case _                  => false
      }
    case IsNull(a)          => known.get(a).exists(_.isInstanceOf[Exactly])
    case And(l, r)          => isNeverTrue(l, known) || isNeverTrue(r, known)
    case Or(l, r)           => isNeverTrue(l, known) && isNeverTrue(r, known)
    case Not(EqualTo(a, v)) => known.get(a).exists(x => compare(x, v).contains(0))
    case _                  => false
  }

  /** True only if no value that has this path equals `v`, which is not null. */
  private def differs(shown: PathValue, v: Any): Boolean = (shown, v) match {
    case (Formatted(time, path, isWhole), text: String) =>
      try isOther(path, isWhole, time.ofText(UTF8String.fromString(text)).toString)
      catch { case _: MerganserException => false }
    case (Slashed(path, isWhole), text: String) => isOther(path, isWhole, text.replace('-', '/'))
    case (Below(path), text: String)            => isOther(path, isWhole = false, text)
    case _                                      => compare(shown, v).exists(_ != 0)
  }

  private def isOther(path: String, isWhole: Boolean, of: String): Boolean =
    path != of && (isWhole || !of.startsWith(s"$path/"))

  /** True only if `v` is the least of the values that have this path. */
  private def startsAt(shown: PathValue, v: Any): Boolean = shown match {
    case Below(text) => text == v
    case _           => false
  }

  /** How every value that has this path compares to `v`; None if they compare differently, or are not comparable. */
  private def compare(shown: PathValue, v: Any): Option[Int] = (shown, v) match {
    case (Within(time, dataType, start, end), value) =>
      time.millisOf(CatalystTypeConverters.convertToCatalyst(value), dataType).collect {
        case millis if millis < start => 1
        case millis if millis >= end  => -1
      }
    case (Exactly(value), _)          => compare(value, v)
    case (Below(text), bound: String) =>
      // The character after the slash: all strings that go on with a slash are less.
      if (compare(text, bound).exists(_ > 0)) Some(1)
      else if (compare(s"${text}0", bound).exists(_ <= 0)) Some(-1)
      else None
    case (Slashed(path, true), _) =>
      if (Day.pattern.matcher(path).matches) compare(path.replace('/', '-'), v) else None
    case (Slashed(path, false), _: java.sql.Date | _: java.time.LocalDate) =>
      val start = v.toString.replace('-', '/').take(path.length)
      if (FirstOfDay.pattern.matcher(path).matches && start != path) compare(path, start) else None
    case _ => None
  }

  /** None if the two are not comparable here: then nothing is pruned. */
  private def compare(a: Any, b: Any): Option[Int] = (a, b) match {
    case (x: String, y: String) =>
      Some(UTF8String.fromString(x).compareTo(UTF8String.fromString(y)))
    case (x: java.lang.Boolean, y: java.lang.Boolean)     => Some(x.compareTo(y))
    case (x: java.lang.Number, y: java.lang.Number)       => Some(java.lang.Long.compare(x.longValue, y.longValue))
    case (x: java.sql.Date, y: java.sql.Date)             => Some(x.compareTo(y))
    case (x: java.time.LocalDate, y: java.time.LocalDate) => Some(x.compareTo(y))
    case (x: java.sql.Date, y: java.time.LocalDate)       => Some(x.toLocalDate.compareTo(y))
    case (x: java.time.LocalDate, y: java.sql.Date)       => Some(x.compareTo(y.toLocalDate))
    case _                                                => None
  }

  /** The value in a level of a path, as a string. */
  private[spark] def valueOf(config: TableConfig, level: String, name: String): String =
    if (config.hiveStyle) level.stripPrefix(s"$name=") else level
}
