package io.merganser.spark.write.tag

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.index.StoredBloomFilter
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage
import org.apache.spark.HashPartitioner
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.storage.StorageLevel
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * The BLOOM index: rules out files by the key ranges and Bloom filters in their footers, before their keys are read.
 *
 * The footers are read once, in parallel. Keys of the batch go to the tasks of the files whose range contains them, and
 * are tested there; neither keys nor filters reach the driver.
 */
private[write] final case class FileFilters(session: SparkSession, table: OpenTable) {
  import FileFilters._

  /**
   * The slices that may hold a key of the batch, and those that cannot be ruled out: without a filter, or with more
   * tests to make than reading their keys would cost.
   *
   * @param slices  with their positions
   * @param logKeys positions of the slices whose logs may hold keys that no base file does
   */
  def select(
      slices: Seq[(Int, FileSlice)],
      batch: KeyedBatch,
      summary: BatchSummary,
      logKeys: Set[Int]
  ): Seq[(Int, FileSlice)] = {
    val (tested, others) = slices.partition { case (i, slice) => slice.base.isDefined && !logKeys(i) }
    if (tested.size < 2 || tested.size * summary.rows > MostTests) slices
    else {
      val footers = read(tested)
      try {
        val ranges  = footers.map(_.copy(filter = null)).collect().toSeq
        val byIndex = tested.toMap
        ranges.foreach(r => KnownRanges.keep(table.storage, byIndex(r.slice).base.get, r.min, r.max))
        val overlapping            = ranges.filter(r => summary.ranges.overlaps(r.min, r.max))
        val (filtered, unfiltered) = overlapping.partition(_.hasFilter)
        val passed                 = unfiltered.map(_.slice).toSet ++ hits(footers, filtered, batch)
        others ++ tested.filter(slice => passed(slice._1))
      } finally { footers.unpersist(blocking = false); () }
    }
  }

  /** Ranges and filters of the base files; a file's position modulo the number of partitions is its partition. */
  private def read(slices: Seq[(Int, FileSlice)]): RDD[FileKeys] = {
    val storage = table.storage
    val tasks   = math.min(slices.size, math.max(session.sparkContext.defaultParallelism, slices.size / FilesOfTask))
    val groups  = new HashPartitioner(tasks)
    val byTask  = slices.groupBy(slice => groups.getPartition(slice._1))
    session.sparkContext.parallelize(0 until tasks, tasks)
      .mapPartitions(_.flatMap(task => withFooters(storage, byTask.getOrElse(task, Nil))).map {
        case ((index, slice), footer) =>
          FileKeys(index, slice.partitionPath, footer.minKey, footer.maxKey, footer.bloomFilter.isDefined,
            footer.bloomFilter.orNull)
      }).persist(StorageLevel.MEMORY_AND_DISK)
  }

  /** Positions of the files of which a filter passes a key. */
  private def hits(footers: RDD[FileKeys], files: Seq[FileKeys], batch: KeyedBatch): Seq[Int] =
    if (files.isEmpty) Nil
    else {
      val byPath      = batch.order.byPath
      val (key, path) = (batch.keyOrdinal, batch.pathOrdinal)
      val shared = session.sparkContext.broadcast(files.groupBy(f => if (byPath) f.partition else "")
          .map { case (partition, ranges) => partition -> ranges.map(new FileRange(_)).toArray })
      val tests = batch.rows.mapPartitions { rows =>
        val ranges           = shared.value.map { case (partition, files) => UTF8String.fromString(partition) -> files }
        var last: UTF8String = null
        rows.flatMap { row =>
          // Rows of one key often follow each other.
          val value = row.getUTF8String(key)
          if (last != null && last.equals(value) && !byPath) Iterator.empty
          else {
            last = value.copy()
            val named = if (byPath) row.getUTF8String(path) else UTF8String.EMPTY_UTF8
            ranges.getOrElse(named, Array.empty[FileRange]).iterator.filter(_.contains(last))
              .map(file => file.slice -> last.getBytes)
          }
        }
      }
      val found = footers.zipPartitions(tests.partitionBy(new HashPartitioner(footers.getNumPartitions))) {
        (files, tests) =>
          val filters = files.filter(_.hasFilter).map(f => f.slice -> StoredBloomFilter.decode(f.filter)).toMap
          val passed  = mutable.HashSet.empty[Int]
          tests.foreach { case (file, key) =>
            if (!passed(file) && filters(file).forall(_.mayContain(key))) passed += file
          }
          passed.iterator
      }.collect().toSeq
      shared.unpersist(blocking = false)
      found
    }
}

private object FileFilters {

  private def withFooters(
      storage: Storage,
      slices: Seq[(Int, FileSlice)]
  ): Iterator[((Int, FileSlice), BaseFileFooter)] =
    slices.grouped(StoredKeyScan.FootersAtOnce).flatMap { some =>
      val files = some.flatMap(_._2.base).map(base => storage.path(base.path) -> base.sizeBytes)
      some.zip(BaseFileFooter.readAll(storage.conf, files))
    }

  /** Pairs of a key and a file, above which reading the files' keys costs less. */
  private val MostTests = 20000000L

  /** Footers that a task reads at most, unless there are few tasks. */
  private val FilesOfTask = 64

  /**
   * @param slice     position of the file's slice
   * @param partition its path
   * @param filter    as the footer has it
   */
  private final case class FileKeys(
      slice: Int,
      partition: String,
      min: Option[String],
      max: Option[String],
      hasFilter: Boolean,
      filter: String
  )

  /** The range of a file's keys as bytes; without a bound every key is inside. */
  private final class FileRange(file: FileKeys) extends Serializable {
    val slice: Int                        = file.slice
    @transient private[this] lazy val min = file.min.map(UTF8String.fromString).orNull
    @transient private[this] lazy val max = file.max.map(UTF8String.fromString).orNull

    def contains(key: UTF8String): Boolean =
      (min == null || key.compareTo(min) >= 0) && (max == null || key.compareTo(max) <= 0)
  }
}
