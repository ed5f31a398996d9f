package io.merganser.table.commit

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.base.{BaseFileOptions, BaseFileWriter}
import io.merganser.table.file.{FileNames, Marker, MarkerKind}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType, WriteStat}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

// Guarantee (Concurrent writers): A key that two writers add at once is stored once, or the second write fails: under a
//   global index, by inserts with a duplicate policy, beside overwrites. Also: ConcurrentWritesSuite
/** Of two writes at once, what the second decided from what was stored must still be true when it commits. */
final class NewKeysSuite extends TableSuite {
  import KeyScope._

  private def begin(storage: Storage, action: Action = Action.Commit, beats: Boolean = false): Transaction =
    Transaction.begin(storage, TableConfig.load(storage), action,
      options = Transaction.Options(heartbeatMs = if (beats) Some(60000L) else None))

  /** A base file of a new group, its rows in the order of the keys; `stored` are keys that an earlier commit wrote. */
  private def wrote(
      t: Transaction,
      s: Storage,
      partition: String,
      fileId: String,
      keys: Seq[String],
      stored: Set[String] = Set.empty,
      prev: String = "null"
  ): WriteStat = {
    val name = FileNames.base(fileId, "0-0-0", t.instant)
    t.markers.create(Marker(partition, name, MarkerKind.Create))
    val writer = new BaseFileWriter(s.conf, s.path(s"$partition/$name"), MetaColumns.schema,
      BaseFileOptions(codec = "uncompressed"))
    keys.foreach { key =>
      val values = Seq(if (stored(key)) "001" else t.instant, "0", key, partition, name).map(UTF8String.fromString)
      writer.write(new GenericInternalRow(values.toArray[Any]))
    }
    val written = writer.close()
    WriteStat(fileId, s"$partition/$name", prevCommit = prev, numWrites = keys.size.toLong,
      numInserts = (keys.size - stored.size).toLong,
      fileSizeInBytes = written.sizeBytes, partitionPath = partition)
  }

  private val schema = AvroSchemas.toAvro(StructType.fromDDL("id STRING"), "t").toString

  private def metadata(
      operation: OperationType,
      stats: Seq[WriteStat],
      replaced: Map[String, Seq[String]] = Map.empty
  ): CommitMetadata =
    CommitMetadata(operation, stats.groupBy(_.partitionPath), Map("schema" -> schema), replaced)

  /** The first write commits while the second is running: is the second refused? */
  private def refused(
      first: (Transaction, Storage) => CommitMetadata,
      second: (Transaction, Storage) => CommitMetadata,
      basis: WriteBasis,
      actions: (Action, Action) = (Action.Commit, Action.Commit)
  ): Boolean = {
    val s = storage
    if (!TableConfig.exists(s)) Creation.create(s, properties(mergeOnRead = false))
    val (a, b) = (begin(s, actions._2), begin(s, actions._1))
    b.commit(first(b, s), Set.empty)
    val mine = second(a, s)
    try { a.commit(mine, Set.empty, basis); false }
    catch {
      case e: io.merganser.merge.MerganserException if e.condition == "COMMIT_CONFLICT" =>
        assert(mine.allStats.forall(stat => !s.exists(stat.path)))
        true
    }
  }

  private var groups = 0

  private def adds(partition: String, keys: String*)(t: Transaction, s: Storage): CommitMetadata = {
    groups += 1
    metadata(OperationType.Insert, Seq(wrote(t, s, partition, s"g$groups", keys)))
  }

  test("a key added to two partitions conflicts only with a write that looked in all partitions") {
    assert(refused(adds("p", "a", "k"), adds("q", "k", "z"), WriteBasis(InTable)))
    assert(!refused(adds("p", "a", "m"), adds("q", "m", "z"), WriteBasis(InPartition)))
    assert(!refused(adds("p", "b", "d"), adds("q", "c", "e"), WriteBasis(InTable)))
  }

  test("with logs in buckets any possible new key conflicts with a write that looked in all partitions") {
    def appends(partition: String)(t: Transaction, s: Storage): CommitMetadata = {
      groups += 1
      val name = FileNames.log(s"g$groups", t.instant, 1, "0-0-0")
      s.createNew(s"$partition/$name", Array[Byte](1))
      metadata(OperationType.Upsert, Seq(WriteStat(s"g$groups", s"$partition/$name", partitionPath = partition)))
    }
    assert(refused(appends("p"), appends("q"), WriteBasis(InBuckets)))
    assert(refused(adds("p", "a"), appends("q"), WriteBasis(InBuckets)))
    assert(refused(appends("p"), adds("q", "b"), WriteBasis(InBuckets)))
    assert(refused(adds("p", "k"), adds("q", "k"), WriteBasis(InBuckets)))
    assert(!refused(adds("p", "c"), adds("q", "d"), WriteBasis(InBuckets)))
    assert(!refused(appends("p"), appends("q"), WriteBasis(Nowhere)))
  }

  test("only inserts that drop or refuse stored keys conflict with a write of one of their keys") {
    assert(refused(adds("p", "a", "k"), adds("p", "k", "z"), WriteBasis(InPartition)))
    assert(!refused(adds("p", "b", "l"), adds("p", "l", "z"), WriteBasis(Nowhere)))
  }

  test("an overwrite conflicts with rows added to its partitions and with another overwrite") {
    def overwrites(partition: String, keys: String*)(t: Transaction, s: Storage) =
      adds(partition, keys: _*)(t, s).copy(operationType = OperationType.InsertOverwrite)
    val ofP = WriteBasis(replaces = _ == "p")
    assert(refused(adds("p", "a"), overwrites("p", "z"), ofP, (Action.Commit, Action.ReplaceCommit)))
    assert(!refused(adds("q", "a"), overwrites("p", "z"), ofP, (Action.Commit, Action.ReplaceCommit)))
    assert(refused(overwrites("r", "a"), overwrites("r", "z"), WriteBasis(replaces = Set("r")),
        (Action.ReplaceCommit, Action.ReplaceCommit)))
    assert(refused(adds("new", "a"), overwrites("p", "z"), WriteBasis(replaces = _ => true),
        (Action.Commit, Action.ReplaceCommit)))
    assert(refused(overwrites("s", "k"), adds("s", "k"), WriteBasis(InPartition),
        (Action.ReplaceCommit, Action.Commit)))
  }

  test("files with unordered keys of other engines are compared by keys and not by ranges") {
    val shuffled = Seq("m", "a", "z", "c")
    assert(!refused(adds("p", shuffled: _*), adds("p", "b", "d"), WriteBasis(InPartition)))
    assert(refused(adds("q", shuffled: _*), adds("q", "b", "c"), WriteBasis(InPartition)))
    assert(!refused(adds("r", "b", "d"), adds("r", shuffled: _*), WriteBasis(InPartition)))
    assert(refused(adds("s", "b", "c"), adds("s", shuffled: _*), WriteBasis(InPartition)))
    assert(refused(adds("t", shuffled: _*), adds("t", "y", "b", "z"), WriteBasis(InPartition)))
  }

  test("without stored keys, files with overlapping key ranges conflict") {
    Creation.create(storage, properties(mergeOnRead = false) + ("hoodie.populate.meta.fields" -> "false"))
    assert(refused(adds("p", "a", "m"), adds("p", "c", "z"), WriteBasis(InPartition)))
    assert(!refused(adds("q", "a", "b"), adds("q", "c", "d"), WriteBasis(InPartition)))
    assert(!refused(adds("r", "a", "m"), adds("s", "c", "z"), WriteBasis(InPartition)))
  }

  test("a key that both files contained before does not conflict") {
    def rewrites(fileId: String, keys: String*)(t: Transaction, s: Storage) =
      metadata(OperationType.Upsert, Seq(wrote(t, s, "p", fileId, keys, stored = Set("k"), prev = "001")))
    assert(!refused(rewrites("x", "a", "k"), rewrites("y", "b", "k"), WriteBasis(InPartition)))
  }

  test("new keys that another engine put into a log cannot be compared, and are a conflict") {
    def logs(t: Transaction, s: Storage) = {
      val name = FileNames.log("l", t.instant, 1, "0-0-0")
      s.createNew(s"p/$name", Array[Byte](1))
      metadata(OperationType.Upsert,
        Seq(WriteStat("l", s"p/$name", numInserts = 1, partitionPath = "p", logVersion = Some(1))))
    }
    assert(refused(logs, adds("p", "z"), WriteBasis(InPartition), (Action.DeltaCommit, Action.Commit)))
    assert(!refused(logs, adds("q", "z"), WriteBasis(InPartition), (Action.DeltaCommit, Action.Commit)))
  }

  /** Base files in the order in which a commit of `count` files opens them; another one of as many came before it. */
  private def opened(count: Int, whenOpened: () => Unit = () => ())(keys: (Int, String) => Seq[String]): Seq[String] = {
    val s = faulty("t")
    Creation.create(s, properties(mergeOnRead = false))
    val (a, b) = (begin(s, beats = true), begin(s, beats = true))
    def many(t: Transaction, side: String) =
      metadata(OperationType.Upsert, (10 until 10 + count).map(i => wrote(t, s, "p", s"$side$i", keys(i, side))))
    b.commit(many(b, "b"), Set.empty)
    val mine  = many(a, "a")
    val files = new ConcurrentLinkedQueue[String]
    FaultyFileSystem.watching { what =>
      if (what.matches("open .*parquet")) {
        files.add(what)
        whenOpened()
      }
    }(a.commit(mine, Set.empty, WriteBasis(InPartition)))
    files.asScala.toList
  }

  test("each footer is read once before the lock, and files with separate ranges are not read") {
    val whileLocked = new AtomicInteger
    def check(): Unit =
      if (java.nio.file.Files.exists(folder.resolve("t/.hoodie/lock"))) { whileLocked.incrementAndGet(); () }
    val files = opened(13, () => check())((i, side) => Seq(s"$i$side", s"$i${side}x"))
    assert(files.distinct.size == files.size && files.size == 26, files)
    assert(whileLocked.get == 0)
  }

  test("many files whose ranges all overlap are read a few times each, not once for each pair") {
    val files = opened(20)((i, side) => Seq(s"a$i$side", s"z$i$side"))
    assert(files.size <= 40 * 5, files.size)
  }
}
