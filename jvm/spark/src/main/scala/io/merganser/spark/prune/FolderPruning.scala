package io.merganser.spark.prune

import io.merganser.spark.prune.PartitionPruning.{Exactly, Extent, Level, PathValue, Slashed}
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.sources._

import scala.annotation.tailrec

/**
 * What the first folders of a path determine for all partitions below them, so that a read lists no more folders than
 * it needs.
 *
 * @param plainPath the folders of a column's value, where no two values have the same folders and no value has others
 */
private[prune] final class FolderPruning(
    config: TableConfig,
    levels: Seq[Level],
    plainPath: (String, String) => Option[String]
) {
  import FolderPruning._

  /**
   * What a folder determines of the columns in every partition below it and in itself.
   *
   * A string that is not encoded may go on in the next folder. Where a filter names its values, and none of them does,
   * rows that pass have exactly the string of this folder.
   */
  def known(folder: String, filters: Seq[Filter]): Map[String, PathValue] = {
    val values = equalTo(filters)

    @tailrec def from(levels: List[Level], parts: List[String], found: Map[String, PathValue]): Map[String, PathValue] =
      levels match {
        case level :: next if parts.nonEmpty && level.extent != Extent.Unknown =>
          val count = if (level.extent == Extent.Open) openCount(level, next, parts, values) else Some(level.count)
          count.filter(_ <= parts.length) match {
            case Some(n) =>
              val value = level.read(level.text(config, parts.take(n)))
              from(next, parts.drop(n), found ++ value.map(level.name -> _))
            case None =>
              val first = if (level.extent == Extent.Open && next.nonEmpty) parts.take(1) else parts
              found ++ level.readBelow(level.text(config, first)).map(level.name -> _)
          }
        case _ => found
      }
    from(levels.toList, folder.split('/').toList, Map.empty)
  }

  /** How many folders an open level has, if that is known. */
  private def openCount(
      level: Level,
      next: List[Level],
      parts: List[String],
      values: Map[String, Seq[String]]
  ): Option[Int] =
    if (next.isEmpty) None
    else if (config.hiveStyle) Some(parts.indexWhere(_.startsWith(s"${next.head.name}="))).filter(_ > 0)
    else {
      val text = level.text(config, parts.take(1))
      values.get(level.name).map(_.filter(v => v == text || v.startsWith(s"$text/"))).filter(found =>
        found.nonEmpty && found.forall(_ == text)).map(_ => 1)
    }

  /**
   * The folders of the only partitions that can have rows that pass: the filters name the values of all columns, and
   * these are strings. The values of other types may have been written in several forms.
   */
  def named(filters: Seq[Filter]): Option[Seq[String]] = {
    val values = equalTo(filters)
    val paths = levels.map { level =>
      values.get(level.name).flatMap { some =>
        val plain = some.map(v =>
          level.read(v) match {
            case Some(_: Exactly | _: Slashed) => plainPath(level.name, v).map(level.name -> _)
            case _                             => None
          })
        if (plain.forall(_.isDefined)) Some(plain.flatten) else None
      }
    }
    if (levels.isEmpty || paths.exists(_.isEmpty) || paths.flatten.map(_.size.toLong).product > MostNamed) None
    else {
      val rows =
        paths.flatten.foldLeft(Seq(Seq.empty[(String, String)]))((found, some) => found.flatMap(f => some.map(f :+ _)))
      val plain = rows.map(_.map(_._2).mkString("/"))
      // In such a table a folder without the column's name is a partition too.
      val hive = if (config.hiveStyle) rows.map(_.map { case (name, v) => s"$name=$v" }.mkString("/")) else Nil
      Some((hive ++ plain).distinct)
    }
  }

  /** The values that filters allow for columns, where all of these are strings. */
  private def equalTo(filters: Seq[Filter]): Map[String, Seq[String]] = {
    val all = filters.flatMap(conjuncts).collect {
      case EqualTo(column, value: String)       => column -> Seq(value)
      case EqualNullSafe(column, value: String) => column -> Seq(value)
      case In(column, values) if values.forall(v => v == null || v.isInstanceOf[String]) =>
        column -> values.toSeq.collect { case v: String => v }
    }
    all.groupBy(_._1).map { case (column, several) => column -> several.map(_._2).reduce(_ intersect _) }
  }

  private def conjuncts(filter: Filter): Seq[Filter] = filter match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other            => Seq(other)
  }
}

private[prune] object FolderPruning {

  /** Most folders that are looked at one by one, in place of a listing of the folder above them. */
  private val MostNamed = 100

  /** Whether every writer makes these folders of a value: no character of it is escaped, and no level is hidden. */
  def isPlain(path: String, mayHaveSlashes: Boolean): Boolean = {
    val levels = path.split("/", -1)
    (mayHaveSlashes || levels.length == 1) && levels.forall { level =>
      level.nonEmpty && level.head != '.' && !level.startsWith("__") &&
      level.forall(c => c.isLetterOrDigit || c == '_' || c == '-' || c == '.' || c == ' ')
    }
  }
}
