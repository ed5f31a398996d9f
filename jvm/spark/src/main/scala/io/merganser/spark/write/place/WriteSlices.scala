package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.ListedGroups
import io.merganser.table.slice.FileSlice

import scala.collection.mutable

/**
 * The newest file slices, as of the start of a write, of the partitions that its rows name. A partition is listed when
 * it is first named. The position of a slice never changes: rows are tagged with it.
 *
 * @param onListed is called with partitions when they have been listed, before their slices are used
 */
class WriteSlices(table: OpenTable, onListed: Seq[String] => Unit = _ => ()) {
  private val partitions = mutable.HashSet.empty[String]
  private var slices     = Vector.empty[FileSlice]

  /** False if no partition can have a slice. */
  def mayExist: Boolean = table.timeline.hasWrites

  /** The slices of all partitions that were named so far. */
  def listed: IndexedSeq[FileSlice] = slices

  /** What the write has listed, for its commit. */
  def groups: ListedGroups = ListedGroups(partitions.toSet, slices.map(_.group).toSet)

  /** [[listed]], with the slices of these partitions. */
  def of(named: Set[String]): IndexedSeq[FileSlice] = {
    val added = named.diff(partitions).toSeq.sorted
    if (mayExist && added.nonEmpty) {
      // Listed in parallel, before the call back looks at each partition.
      val found = table.view.slicesOfAny(added)
      onListed(added)
      partitions ++= added
      slices ++= found
    }
    slices
  }

  /** The slices of the whole table. */
  def all: IndexedSeq[FileSlice] = if (mayExist) of(table.view.partitions.toSet) else slices
}

object WriteSlices {

  /** For a write that ignores stored rows. */
  def none(table: OpenTable): WriteSlices = new WriteSlices(table) {
    override def mayExist: Boolean = false
  }
}
