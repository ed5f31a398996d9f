package io.merganser.spark.write

import io.merganser.table.Storage
import io.merganser.table.base.{BaseFileFooter, BaseFileReader, MetaColumns}
import io.merganser.table.slice.{FileSlice, SliceReader}
import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, XXH64}
import org.apache.spark.sql.functions.{col, xxhash64}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator
import org.apache.spark.util.sketch.BloomFilter

import scala.collection.mutable

/**
 * Second step of a write: which stored file slice holds an incoming key.
 *
 * Incoming rows and stored keys are shuffled alike and walked together in one order; no key reaches the driver. Stored
 * keys are read from the key column alone, only in partitions the batch names and files whose key range it meets, and
 * pass a Bloom filter of the batch before they are shuffled.
 */
object Tag {

  /** Stands behind a row whose key is not stored. */
  final val Untagged = -1

  /** The column that tagging adds: an index into the slices, or [[Untagged]]. */
  val SliceColumn: StructField = StructField("__merganser_slice", IntegerType, nullable = false)

  private val LiveColumn = StructField("__merganser_live", BooleanType, nullable = false)

  private val BloomItems = 1000000L

  /** What the batch looks like, gathered by tasks. */
  private final case class Batch(rows: Long, partitions: Set[String], bloom: Array[Byte], minKey: Array[Byte], maxKey: Array[Byte])

  /** Rows shuffled by key and partition path, and in the order of [[walk]] and arrival; the source is evaluated once, here. */
  def byKey(rows: DataFrame, tasks: Int): DataFrame =
    rows
      .repartition(tasks, col(MetaColumns.RecordKey), col(MetaColumns.PartitionPath))
      .sortWithinPartitions(walk :+ col(IncomingSchema.Arrival): _*)

  /**
   * The order in which rows and stored keys are walked together. By hash first: Spark sorts by the first eight bytes
   * while they differ, and those of composite keys are the same name for all.
   */
  private def walk: Seq[Column] = Seq(xxhash64(col(MetaColumns.RecordKey)), col(MetaColumns.RecordKey), col(MetaColumns.PartitionPath))

  /**
   * The rows of [[byKey]] with [[SliceColumn]]; a key stored in several slices comes once for each.
   *
   * @param counting which stored keys count
   * @param several  counts the rows whose key is stored in several slices
   */
  def simple(
      session: SparkSession,
      sorted: DataFrame,
      schema: IncomingSchema,
      storage: Storage,
      slices: IndexedSeq[FileSlice],
      tasks: Int,
      counting: StoredKeys,
      several: LongAccumulator
  ): RDD[InternalRow] = {
    val rows  = sorted.queryExecution.toRdd
    val batch = if (slices.isEmpty) None else summary(rows, schema)
    val matters = batch.toSeq.flatMap(b =>
      slices.indices.filter(i =>
        (slices(i).base.isDefined || counting != StoredKeys.OfBases) && b.partitions.contains(slices(i).partitionPath)))
    if (matters.isEmpty) rows.mapPartitions(untagged)
    else {
      val filter           = session.sparkContext.broadcast(batch.get)
      val stored           = storedKeys(session, storage, matters.map(i => (i, slices(i))), filter, tasks, counting)
      val (key, partition) = (schema.keyOrdinal, schema.partitionOrdinal)
      // Adaptive execution takes an empty side away together with its partitions: then no key is stored.
      if (stored.getNumPartitions != rows.getNumPartitions) {
        if (!stored.isEmpty() && !rows.isEmpty())
          throw new IllegalStateException(
            s"incoming rows in ${rows.getNumPartitions} partitions, stored keys in ${stored.getNumPartitions}")
        rows.mapPartitions(untagged)
      } else {
        val instants = slices.map(_.baseInstant).toArray
        rows.zipPartitions(stored)((incoming, held) => new TagIterator(incoming, held, key, partition, instants, several))
      }
    }
  }

  def untagged(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val tag    = new GenericInternalRow(Array[Any](Untagged))
    val joined = new JoinedRow
    rows.map(row => joined(row, tag))
  }

  /** What `xxhash64` makes of a key. */
  private[write] def hash(key: UTF8String): Long = XXH64.hashUnsafeBytes(key.getBaseObject, key.getBaseOffset, key.numBytes, 42L)

  private def summary(rows: RDD[InternalRow], schema: IncomingSchema): Option[Batch] = {
    val (key, partition) = (schema.keyOrdinal, schema.partitionOrdinal)
    val parts = rows.mapPartitions { it =>
      if (!it.hasNext) Iterator.empty
      else {
        val bloom                                             = BloomFilter.create(BloomItems, 0.03)
        val partitions                                        = mutable.HashSet.empty[UTF8String]
        var (count, min, max): (Long, UTF8String, UTF8String) = (0L, null, null)
        while (it.hasNext) {
          val row = it.next()
          val k   = row.getUTF8String(key)
          bloom.putBinary(k.getBytes)
          if (!partitions.contains(row.getUTF8String(partition))) partitions += row.getUTF8String(partition).copy()
          if (min == null || k.compareTo(min) < 0) min = k.copy()
          if (max == null || k.compareTo(max) > 0) max = k.copy()
          count += 1
        }
        val out = new java.io.ByteArrayOutputStream
        bloom.writeTo(out)
        Iterator(Batch(count, partitions.iterator.map(_.toString).toSet, out.toByteArray, min.getBytes, max.getBytes))
      }
    }
    parts.treeAggregate(Option.empty[Batch])((a, b) => Some(a.fold(b)(both(_, b))), (a, b) => a.fold(b)(x => b.map(both(x, _)).orElse(a)))
  }

  private def both(a: Batch, b: Batch): Batch = {
    val bloom = filterOf(a)
    bloom.mergeInPlace(filterOf(b))
    val out = new java.io.ByteArrayOutputStream
    bloom.writeTo(out)
    def least(x: Array[Byte], y: Array[Byte], sign: Int) =
      if (UTF8String.fromBytes(x).compareTo(UTF8String.fromBytes(y)) * sign <= 0) x else y
    Batch(a.rows + b.rows, a.partitions ++ b.partitions, out.toByteArray, least(a.minKey, b.minKey, 1), least(a.maxKey, b.maxKey, -1))
  }

  private def filterOf(batch: Batch): BloomFilter = BloomFilter.readFrom(new java.io.ByteArrayInputStream(batch.bloom))

  private def storedKeys(
      session: SparkSession,
      storage: Storage,
      slices: Seq[(Int, FileSlice)],
      batch: Broadcast[Batch],
      tasks: Int,
      counting: StoredKeys
  ): RDD[InternalRow] = {
    val schema =
      StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey), MetaColumns.schema(MetaColumns.PartitionPath), SliceColumn, LiveColumn))
    val keys = session.sparkContext.parallelize(slices, slices.size).mapPartitions { it =>
      val bloom = if (batch.value.rows <= 4 * BloomItems) filterOf(batch.value) else null
      it.flatMap { case (index, slice) => keysOf(storage, index, slice, batch.value, bloom, counting) }
    }
    val frame = SparkBridge.internalCreateDataFrame(session, keys, schema)
    frame
      .repartition(tasks, col(MetaColumns.RecordKey), col(MetaColumns.PartitionPath))
      .sortWithinPartitions(walk: _*)
      .queryExecution
      .toRdd
  }

  private def keysOf(
      storage: Storage, index: Int, slice: FileSlice, batch: Batch, bloom: BloomFilter, counting: StoredKeys
  ): Iterator[InternalRow] = {
    def bases(live: Boolean) = if (slice.base.isEmpty) Iterator.empty else baseKeysOf(storage, index, slice, batch, bloom, live)
    def read(reader: SliceReader) = {
      val rows = reader.rows(slice)
      TaskContext.get().addTaskCompletionListener[Unit](_ => rows.close())
      named(rows, index, slice, bloom, isLive = true)
    }
    counting match {
      case StoredKeys.Live(reader) if slice.logs.nonEmpty    => read(reader)
      case StoredKeys.AndLive(reader) if slice.logs.nonEmpty => bases(live = false) ++ read(reader)
      case _                                                 => bases(live = true)
    }
  }

  private def baseKeysOf(
      storage: Storage, index: Int, slice: FileSlice, batch: Batch, bloom: BloomFilter, isLive: Boolean
  ): Iterator[InternalRow] = {
    val base       = slice.base.get
    val path       = storage.path(base.path)
    val footer     = BaseFileFooter.read(storage.conf, path)
    val (min, max) = (UTF8String.fromBytes(batch.minKey), UTF8String.fromBytes(batch.maxKey))
    val apart = footer.minKey.exists(k => UTF8String.fromString(k).compareTo(max) > 0) ||
      footer.maxKey.exists(k => UTF8String.fromString(k).compareTo(min) < 0)
    if (apart) Iterator.empty
    else {
      val reader = new BaseFileReader(storage.conf, path, base.sizeBytes, StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey))), Nil)
      TaskContext.get().addTaskCompletionListener[Unit](_ => reader.close())
      named(reader.rows(), index, slice, bloom, isLive)
    }
  }

  private def named(
      keys: Iterator[InternalRow], index: Int, slice: FileSlice, bloom: BloomFilter, isLive: Boolean
  ): Iterator[InternalRow] = {
    val out = new GenericInternalRow(Array[Any](null, UTF8String.fromString(slice.partitionPath), index, isLive))
    keys.filter(row => bloom == null || bloom.mightContainBinary(row.getUTF8String(0).getBytes)).map { row =>
      out.update(0, row.getUTF8String(0))
      out
    }
  }
}

/** Which of the keys in a table count as stored. */
sealed trait StoredKeys extends Serializable

object StoredKeys {

  /** Those of base files, even if a log deletes them: later versions must meet the delete. */
  case object OfBases extends StoredKeys

  /** Those that readers see. @param reader reads the key column alone */
  final case class Live(reader: SliceReader) extends StoredKeys

  /**
   * Those of base files, told apart by whether readers see them: of a key in several slices only the live rows count, and
   * without a live one the newest slice, or a deleted key would come back once for each.
   */
  final case class AndLive(reader: SliceReader) extends StoredKeys
}

/**
 * Walks incoming rows and stored keys together, both in order of the key's hash, the key and the partition path.
 *
 * @param instants base instants of the slices
 * @param several  counts the rows that have several slices
 */
private final class TagIterator(
    incoming: Iterator[InternalRow],
    stored: Iterator[InternalRow],
    keyOrdinal: Int,
    partitionOrdinal: Int,
    instants: Array[String],
    several: LongAccumulator
) extends Iterator[InternalRow] {
  private[this] val joined                = new JoinedRow
  private[this] val tag                   = new GenericInternalRow(Array[Any](Tag.Untagged))
  private[this] var heldHash              = 0L
  private[this] var held: InternalRow     = nextStored()
  private[this] val matching              = mutable.ArrayBuffer.empty[Int]
  private[this] val dead                  = mutable.ArrayBuffer.empty[Int]
  private[this] var matchKey: UTF8String  = _
  private[this] var matchPath: UTF8String = _
  private[this] var row: InternalRow      = _
  private[this] var at                    = 0

  override def hasNext: Boolean = (row != null && at < matching.size) || incoming.hasNext

  override def next(): InternalRow = {
    if (row == null || at >= matching.size) {
      row = incoming.next()
      at = 0
      findMatches()
    }
    if (matching.isEmpty) {
      tag.update(0, Tag.Untagged)
      val result = joined(row, tag)
      row = null
      result
    } else {
      tag.update(0, matching(at))
      at += 1
      joined(row, tag)
    }
  }

  private def findMatches(): Unit = {
    val key  = row.getUTF8String(keyOrdinal)
    val path = row.getUTF8String(partitionOrdinal)
    if (matchKey == null || !matchKey.equals(key) || !matchPath.equals(path)) {
      matching.clear()
      dead.clear()
      matchKey = key.copy()
      matchPath = path.copy()
      val hash = Tag.hash(key)
      while (held != null && compare(hash, key, path) < 0) held = nextStored()
      while (held != null && compare(hash, key, path) == 0) {
        val found = if (held.getBoolean(3)) matching else dead
        if (!found.contains(held.getInt(2))) found += held.getInt(2)
        held = nextStored()
      }
      if (matching.isEmpty && dead.nonEmpty) matching += dead.maxBy(instants(_))
      if (matching.size > 1) several.add(1)
    }
  }

  private def compare(hash: Long, key: UTF8String, path: UTF8String): Int =
    if (heldHash != hash) java.lang.Long.compare(heldHash, hash)
    else {
      val byKey = held.getUTF8String(0).compareTo(key)
      if (byKey != 0) byKey else held.getUTF8String(1).compareTo(path)
    }

  private def nextStored(): InternalRow =
    if (!stored.hasNext) null
    else {
      val row = stored.next()
      heldHash = Tag.hash(row.getUTF8String(0))
      row
    }
}
