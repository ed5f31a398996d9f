package io.merganser.table.options

import io.merganser.merge.{NamedValue, NamedValues}

/**
 * Which partitions a scheduled clustering takes.
 *
 * @param name value of `hoodie.clustering.plan.partition.filter.mode`
 */
sealed abstract class PartitionFilterMode(val name: String) extends NamedValue

object PartitionFilterMode extends NamedValues[PartitionFilterMode] {

  /** All. */
  case object All extends PartitionFilterMode("NONE")

  /** The last ones in the order of their paths, without some of the very last. */
  case object RecentDays extends PartitionFilterMode("RECENT_DAYS")

  /** Those between two paths, inclusive. */
  case object SelectedPartitions extends PartitionFilterMode("SELECTED_PARTITIONS")

  /** Every 24th, another set each hour. */
  case object DayRolling extends PartitionFilterMode("DAY_ROLLING")

  val all: Seq[PartitionFilterMode] = Seq(All, RecentDays, SelectedPartitions, DayRolling)
}

/**
 * The order of the rows that a clustering writes.
 *
 * @param name value of `hoodie.layout.optimize.strategy`
 */
sealed abstract class LayoutStrategy(val name: String) extends NamedValue

object LayoutStrategy extends NamedValues[LayoutStrategy] {

  /** By the first column, then the second one, and so on. */
  case object Linear extends LayoutStrategy("LINEAR")

  /** By the interleaved bits of the columns. */
  case object ZOrder extends LayoutStrategy("ZORDER")

  /** By the place of the columns' values on a Hilbert curve. */
  case object Hilbert extends LayoutStrategy("HILBERT")

  val all: Seq[LayoutStrategy] = Seq(Linear, ZOrder, Hilbert)

  /** Other spellings: Hudi's procedure takes `z-order`, its option `ZORDER`. */
  private[options] val short: Map[String, String] = Map("z-order" -> ZOrder.name, "z_order" -> ZOrder.name)

  /** By any of the spellings, in any case. */
  def parse(name: String): Option[LayoutStrategy] =
    (all.map(s => s.name -> s.name) ++ short).collectFirst { case (n, v) if n.equalsIgnoreCase(name.trim) => of(v) }
}

/**
 * What happens to a write to file groups in a pending clustering.
 *
 * @param name value of `hoodie.clustering.updates.strategy`, the last part of Hudi's class name
 */
sealed abstract class ClusteringUpdates(val name: String) extends NamedValue

object ClusteringUpdates extends NamedValues[ClusteringUpdates] {

  /** It is refused. */
  case object Reject extends ClusteringUpdates("SparkRejectUpdateStrategy")

  /** It is committed; the clustering is not. */
  case object Allow extends ClusteringUpdates("SparkAllowUpdateStrategy")

  val all: Seq[ClusteringUpdates] = Seq(Reject, Allow)

  private val Package   = "org.apache.hudi.client.clustering.update.strategy"
  private val OfBuckets = "SparkConsistentBucketDuplicateUpdateStrategy"

  private[options] val short: Map[String, String] =
    all.map(s => s"$Package.${s.name}" -> s.name).toMap ++
      // Of buckets that are split and merged: our writes are refused meanwhile in any case.
      Seq(s"$Package.$OfBuckets" -> Reject.name, OfBuckets -> Reject.name)
}
