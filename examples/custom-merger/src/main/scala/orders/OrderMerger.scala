package orders

import io.merganser.merge.{BufferedRecord, RecordContext, RecordMerger}
import org.apache.spark.sql.types.StructType

import java.util.{HashMap, Map => JavaMap}

/**
 * One order, changed by two services that know nothing of each other.
 *
 * Each service owns some columns and a clock for them: they follow its newest change, whatever the other one wrote
 * meanwhile. Both may advance the order's state, which never goes back.
 */
class OrderMerger extends RecordMerger {

  override def getMergingStrategy: String = "0e6957b1-7549-4980-94c2-88553968562c"

  /** Clock -> the columns that follow it. */
  private val services = Seq(
    "info_ts"    -> Seq("item", "address"),
    "payment_ts" -> Seq("paid", "method")
  )

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (older.isDelete || newer.isDelete) newer
    else new Change(older, newer, context, props).result

  /** The same rule: a column that a service did not send is treated like one whose clock has not advanced. */
  override def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord = merge(older, newer, context, props)

  private final class Change(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ) {
    private val taken = new HashMap[String, AnyRef]

    private def value(record: BufferedRecord, column: String): AnyRef =
      if (context.isProvided(record, column)) context.getValue(record, column) else null

    private def take(column: String): Unit =
      if (context.isProvided(newer, column)) taken.put(column, context.getValue(newer, column))

    private def isNews(clock: String): Boolean = (value(older, clock), value(newer, clock)) match {
      case (_, null)                                      => false
      case (null, _)                                      => true
      case (stored: java.lang.Long, sent: java.lang.Long) => sent >= stored
      case _ => throw new IllegalArgumentException(s"$clock is not a BIGINT column")
    }

    /** Position in the order of states, which the table keeps as a merge property. */
    private def rank(state: AnyRef): Int = state match {
      case null => -1
      case name =>
        val at = props.get("order.states").split(',').indexOf(name.toString)
        if (at < 0) throw new IllegalArgumentException(s"unknown state '$name'")
        at
    }

    def result: BufferedRecord = {
      context.getSchema(newer).fieldNames.filterNot(context.isProvided(older, _)).foreach(take)
      for ((clock, columns) <- services if isNews(clock)) (clock +: columns).foreach(take)
      if (rank(value(newer, "state")) > rank(value(older, "state"))) take("state")
      if (taken.isEmpty) older else context.mergeWithEngineRecord(older, taken)
    }
  }
}
