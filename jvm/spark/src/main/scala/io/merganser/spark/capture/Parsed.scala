package io.merganser.spark.capture

import io.merganser.merge.MerganserException
import io.merganser.spark.capture.Expressions.{field, spelled}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * What the table, or the caller, knows of the columns that events fill.
 *
 * @param schema      columns of the table; empty if it is created by these events
 * @param types       types that the caller gave by column
 * @param only        the columns that are applied; None: all
 * @param omitted     columns that are not applied
 * @param sourceTable the source's table whose events are applied; None: all
 * @param fixed       columns of the table by which stored rows are found and ordered: only their integers widen
 * @param evolution   whether columns of the table may become wider: `true`, `false`, or `tostring`, strings too
 */
private[capture] final case class Known(
    schema: StructType,
    types: StructType,
    only: Option[Seq[String]],
    omitted: Seq[String],
    sourceTable: Option[String] = None,
    fixed: Seq[String] = Nil,
    evolution: String = "true"
) {
  def typeOf(column: String): Option[DataType] =
    types.find(_.name == column).orElse(field(schema, column)).map(_.dataType)

  /** Whether an event may give the column another type: not if the caller did. */
  def widens(column: String): Boolean =
    !types.fieldNames.contains(column) && (evolution != "false" || field(schema, column).isEmpty)

  def isFixed(column: String): Boolean = fixed.exists(_.equalsIgnoreCase(column))

  /**
   * Those of the events' columns that are applied. Of two whose names differ in case only, `only` and `omitted` mean
   * the one that they name exactly.
   *
   * @throws MerganserException CHANGES_COLUMNS_ALIKE, CHANGES_COLUMN_MARKS_DELETES
   */
  def applied(columns: Seq[String]): Seq[String] = {
    def names(given: Seq[String], column: String) = {
      val alike = given.filter(_.equalsIgnoreCase(column))
      alike.contains(column) || alike.exists(!columns.contains(_))
    }
    val found = columns.filter(column => !names(omitted, column) && only.forall(names(_, column)))
    Known.requireDistinct(found)
    spelled(found, Parsed.Deleted).foreach(column =>
      throw MerganserException("CHANGES_COLUMN_MARKS_DELETES", "column" -> column))
    found
  }
}

private[capture] object Known {

  /** @throws MerganserException CHANGES_COLUMNS_ALIKE: one column of a table would have both */
  def requireDistinct(columns: Seq[String]): Unit = columns.zipWithIndex.foreach { case (column, at) =>
    columns.take(at).find(_.equalsIgnoreCase(column)).foreach(other =>
      throw MerganserException("CHANGES_COLUMNS_ALIKE", "column" -> other, "other" -> column))
  }
}

/**
 * The events of a frame in one form, whatever form the frame has: header, new row, old row and key.
 *
 * @param frame     with the columns of [[Parsed.All]], and those of the frame that begin with [[Parsed.Beside]]
 * @param columns   every column of the rows that is applied, with its conversion
 * @param hasBefore whether events can have old rows
 * @param places    of JSON, each value of an event by its place, with the struct that reads it alone
 */
private[capture] final case class Parsed(
    frame: DataFrame,
    columns: Seq[(String, Value)],
    hasBefore: Boolean,
    places: Seq[(String, StructType)] = Nil
) {

  /**
   * The types of the frame's own columns that order the events, by their names in `sequence_by`.
   *
   * @throws MerganserException CHANGES_SEQUENCE_AMBIGUOUS: the rows of the events have a column of the name too
   */
  lazy val ofFrame: Seq[(String, DataType)] = {
    val found = frame.schema.filter(_.name.startsWith(Parsed.Beside)).map(one =>
      one.name.stripPrefix(Parsed.Beside) -> one.dataType)
    found.find { case (column, _) => columns.exists(_._1.equalsIgnoreCase(column)) }.foreach { case (column, _) =>
      throw MerganserException("CHANGES_SEQUENCE_AMBIGUOUS", "column" -> column)
    }
    found
  }
}

private[capture] object Parsed {

  /** The event and its key as strings, whether it is null, whether it does not parse, whether it is in a `payload`. */
  val Raw     = "__raw"
  val Key     = "__raw_key"
  val Absent  = "__absent"
  val Corrupt = "__corrupt"
  val Wrapped = "__wrapped"

  /** Whether the event is a JSON object, and whether something follows it. */
  val IsObject = "__is_object"
  val Trailing = "__trailing"

  /** A number for the `schema` of the event, null without one. */
  val Schema = "__schema"

  /** Structs with the header, the new row, the old one, and the key. */
  val Header = "e"
  val After  = "a"
  val Before = "b"
  val Keys   = "k"

  val All: Seq[String] = Seq(Raw, Key, Absent, Corrupt, IsObject, Trailing, Schema, Header, After, Before, Keys)

  /** In front of the name of a column of the frame that is no part of its events, and orders them. */
  val Beside = "__frame_"

  /** The column that marks deletes among the rows that are written. */
  val Deleted = "_hoodie_is_deleted"

  /** A struct with values by their paths in it. */
  def nested[T](leaves: Seq[(String, T)])(group: Seq[(String, T)] => T): Seq[(String, T)] = {
    val heads = leaves.map { case (path, _) => path.takeWhile(_ != '.') }.distinct
    heads.map { head =>
      head -> leaves.collectFirst { case (`head`, value) => value }.getOrElse(group(nested(leaves.collect {
        case (path, value) if path.startsWith(s"$head.") => path.drop(head.length + 1) -> value
      })(group)))
    }
  }
}
