package io.merganser.merge

import io.merganser.merge.columns.{ColumnFunction, ColumnRule, DeletePolicy}
import io.merganser.merge.payload._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A built-in rule, and its description for the oracle.
 *
 * @param full the rule for full versions in rows of a layout
 */
final case class BuiltInRule(oracle: Oracle.Rule, full: RowLayout => MergeRule) {

  /** The rule for rows of the test table, partial ones too. */
  val rule: MergeRule =
    if (oracle.columns.nonEmpty) full(Notation.layout)
    else new PartialRule(full(Notation.layout), Notation.layout, nullsAreValues = oracle.nullsAreValues)

  /** Whether combining a batch equals folding its versions one by one, where no delete is forgotten between them. */
  def batchIsFold: Boolean =
    oracle.columns.nonEmpty || rule.laws.associative && oracle.byEventTime == oracle.batchByEventTime &&
      oracle.missing.isEmpty &&
      !oracle.lateDeletesWin

  override def toString: String = oracle.name
}

object BuiltInRules {
  import Oracle.{EventTime => _, _}

  val Unavailable = "__debezium_unavailable_value"

  private def mode(name: String, byEventTime: Boolean, missing: MissingValue, values: MissingValues) = BuiltInRule(
    Rule(name, byEventTime, byEventTime, Some(missing), fillsBatch = true, nullsAreValues = missing == MissingNull),
    layout =>
      if (byEventTime) FillMissingRule.byEventTime(layout, values, Nil)
      else FillMissingRule.byCommitTime(layout, values, Nil)
  )

  private def payload(rule: Rule, of: ClassicPayload) = BuiltInRule(rule, of.rule(_, Nil))

  /** Every built-in rule of the engine. */
  val all: Seq[BuiltInRule] = Seq(
    BuiltInRule(CommitTime, _ => new CommitTimeRule),
    BuiltInRule(Oracle.EventTime, EventTimeRule(_)),
    mode("IgnoreDefaults by commit time", byEventTime = false, MissingNull, MissingValues.Nulls),
    mode("IgnoreDefaults by event time", byEventTime = true, MissingNull, MissingValues.Nulls),
    mode("FillUnavailable by commit time", byEventTime = false, MissingMarker(Unavailable),
      MissingValues.Marked(Unavailable)),
    mode("FillUnavailable by event time", byEventTime = true, MissingMarker(Unavailable),
      MissingValues.Marked(Unavailable)),
    payload(Rule("OverwriteWithLatest", byEventTime = false, batchByEventTime = true), OverwriteWithLatest),
    payload(Oracle.EventTime.copy(name = "EventTime payload"), EventTime),
    payload(Rule("OverwriteNonDefaults", byEventTime = false, batchByEventTime = true, Some(MissingNull)),
      OverwriteNonDefaults),
    payload(Rule("PartialUpdate", byEventTime = true, batchByEventTime = true, Some(MissingNull), fillsBatch = true,
        lateDeletesWin = true),
      PartialUpdate),
    payload(Rule("AwsDms", byEventTime = false, batchByEventTime = true), AwsDms),
    payload(Rule("PostgresDebezium", byEventTime = true, batchByEventTime = true, Some(MissingMarker(Unavailable)),
        fillsFromLateArriving = false),
      PostgresDebezium),
    BuiltInRule(Oracle.EventTime.copy(name = "MySqlDebezium"), new OnPositions(_))
  )

  private def declared(
      v: ColumnFunction,
      w: ColumnFunction,
      byEventTime: Boolean,
      delete: DeletePolicy = DeletePolicy.RemoveRow
  )(columns: Column*) = {
    val order  = if (byEventTime) "event" else "commit"
    val name   = s"$v and $w by $order time" + (if (delete == DeletePolicy.RemoveRow) "" else s", deletes $delete")
    val oracle = Rule(name, byEventTime, byEventTime, combinesBatch = false, columns = columns, delete = delete.text)
    BuiltInRule(oracle,
      layout => {
        val ordered = if (byEventTime) layout else layout.copy(ordering = Array.empty)
        new ColumnRule(ordered, Map("v" -> v, "w" -> w).getOrElse(_, ColumnFunction.Last), Nil, Nil, delete)
      })
  }

  private def both(merged: (String, String) => String): Column = {
    case (Some(a), Some(b), _) => Some(merged(a, b))
    case (a, b, _)             => a.orElse(b)
  }

  /** Rules that are declared column by column, which tables store as data. */
  val declared: Seq[BuiltInRule] = {
    val least: Column    = both((a, b) => if (a < b) a else b)
    val greatest: Column = both((a, b) => if (a > b) a else b)
    val joined: Column   = both(_ + "," + _)
    val last: Column     = (older, newer, isLate) => if (isLate) older else newer
    Seq(
      declared(ColumnFunction.Min, ColumnFunction.Joined(","), byEventTime = true)(least, joined),
      declared(ColumnFunction.Last, ColumnFunction.Max, byEventTime = true)(last, greatest),
      declared(ColumnFunction.LastNonNull, ColumnFunction.FirstNonNull, byEventTime = true)(
        (older, newer, isLate) => if (isLate) older.orElse(newer) else newer.orElse(older),
        (older, newer, _) => older.orElse(newer)),
      declared(ColumnFunction.First, ColumnFunction.Joined(","), byEventTime = true)((older, _, _) => older, joined),
      declared(ColumnFunction.LastNonNull, ColumnFunction.Max, byEventTime = false)(
        (older, newer, _) => newer.orElse(older), greatest),
      declared(ColumnFunction.Computed("concat_ws('+', old.v, new.v)"),
        ColumnFunction.Computed("if(new.w < old.w, new.w, old.w)"), byEventTime = true)(
        (older, newer, _) => Some((older ++ newer).mkString("+")),
        (older, newer, _) => if (older.exists(o => newer.exists(_ < o))) newer else older),
      declared(ColumnFunction.Last, ColumnFunction.Joined(","), byEventTime = true, DeletePolicy.ResetGroup)(last,
        joined),
      declared(ColumnFunction.Min, ColumnFunction.Joined(","), byEventTime = false, DeletePolicy.ResetGroup)(least,
        joined),
      declared(ColumnFunction.Max, ColumnFunction.Last, byEventTime = true, DeletePolicy.Ignore)(greatest, last)
    )
  }

  def named(name: String): BuiltInRule =
    all.find(_.oracle.name == name).getOrElse(throw new NoSuchElementException(name))
}

/**
 * The MySQL rule on rows whose ordering value is a number: the rule gets the binlog position that it represents. Larger
 * numbers are later positions, but often smaller strings.
 */
final class OnPositions(layout: RowLayout) extends MergeRule {
  private val at      = layout.orderingOrdinals.head
  private val columns = StructType(layout.schema.updated(at, layout.schema(at).copy(dataType = StringType)))
  private val positions =
    layout.copy(schema = columns, ordering = layout.ordering.flatMap(f => OrderingField.find(columns, f.name)))
  private val inner = MySqlDebezium.rule(positions, Nil)

  override val laws: Laws = inner.laws

  override def merge(older: Version, newer: Version): Version = delegated(older, newer, inner.merge)

  override def combine(older: Version, newer: Version): Version = delegated(older, newer, inner.combine)

  private def delegated(older: Version, newer: Version, step: (Version, Version) => Version): Version = {
    val (o, n) = (positioned(older), positioned(newer))
    val result = step(o, n)
    val chosen = if (result.row eq n.row) newer
    else if (result.row eq o.row) older else throw new IllegalStateException("another row")
    if (result.endsHistory) chosen.withoutHistory else chosen
  }

  private def positioned(version: Version): Version = {
    val row = new GenericInternalRow(version.row.toSeq(layout.schema).toArray[Any])
    row.update(at, position(version.row))
    val result = new Version().set(row, version.isDelete, version.isUnconditional)
    result.endsHistory = version.endsHistory
    result
  }

  private def position(row: InternalRow): UTF8String =
    if (row.isNullAt(at)) null
    else {
      require(layout.schema(at).dataType == LongType)
      val n = row.getLong(at) + 1
      UTF8String.fromString(s"${8 + n / 2}.${9 + n % 2 * 2}")
    }
}
