package io.merganser.table.slice

import io.merganser.merge.Notation
import io.merganser.table.{DirectTable, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.file.PartitionMetadata
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.{Archiving, PartitionRepair}
import io.merganser.table.settings.ArchiveConfig
import io.merganser.table.timeline.{OperationType, Timeline}

// Guarantee (Reads): A partition that lost its metadata file is an error of every read and write, with the remedy, if a
//   commit names a file in its folder. Also:
//   test_a_table_of_an_earlier_writer_works_in_each_use_or_is_refused,
//   test_partition_metadata_is_added_and_migrated
/** Partitions whose metadata file is gone, as in a copy without files whose names begin with a dot. */
final class LostPartitionMetadataSuite extends TableSuite {
  private val Missing = "PARTITION_METADATA_MISSING"

  private def created(version: Int, mergeOnRead: Boolean): DirectTable = {
    Creation.create(storage,
      DirectTable.properties(mergeOnRead) ++ Map(
        "hoodie.table.version" -> version.toString,
        "hoodie.table.initial.version" -> version.toString,
        "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1")))
    val table = new DirectTable(storage, bucketed = false)
    Seq("k1@10=a k2@10=b", "k1@20=c", "k2@20=d").foreach(changes => table.upsert(Notation.changes(changes)))
    table
  }

  private def view(table: DirectTable): TableView =
    new TableView(table.storage, TableConfig.load(table.storage), table.timeline)

  private def loseMetadata(table: DirectTable): Unit = assert(table.storage.delete(s"p1/${PartitionMetadata.Name}"))

  test("every access to a partition without metadata fails until it is repaired") {
    val table = created(version = 9, mergeOnRead = true)
    val rows  = table.rows
    val group = view(table).slices("p1").head.group
    loseMetadata(table)
    assert(conditionOf(table.rows) == Missing)
    assert(conditionOf(table.rowsAsOf(table.timeline.completed.head.requested)) == Missing)
    assert(conditionOf(table.upsert(Notation.changes("k1@30=e"))) == Missing)
    assert(conditionOf(view(table).slicesOfAny(Seq("p1"))) == Missing)
    assert(conditionOf(view(table).slicesOf(Set(group))) == Missing)
    assert(conditionOf(view(table).partitionsAmong(Seq("p1"))) == Missing)
    assert(conditionOf(view(table).partitionsIn(_ => true)) == Missing)
    assert(conditionOf(view(table).readOptimizedSlices) == Missing)
    assert(conditionOf(view(table).slicesOneByOne(most = 1).toList) == Missing)
    assert(view(table).slicesOfAny(Seq("p0")).size == 1 && view(table).partitionsWithMetadata == Seq("p0"))
    new PartitionRepair(table.storage).add(dryRun = false)
    assert(table.rows == rows)
  }

  test("a file of an archived commit shows that a folder was a partition") {
    val table = created(version = 9, mergeOnRead = false)
    new Archiving(table.storage, TableConfig.load(table.storage),
      ArchiveConfig(minCommits = 1, maxCommits = 1, deltaCommits = 1)).run()
    val named = view(table).slices("p1").flatMap(_.base).map(_.instant)
    assert(named.nonEmpty && !named.exists(i => table.timeline.completed.exists(_.requested == i)))
    loseMetadata(table)
    assert(conditionOf(table.rows) == Missing)
  }

  test("a folder with files of a running write, of replaced groups or of no commit is no lost partition") {
    val table = created(version = 9, mergeOnRead = false)
    val begun = table.begun(Notation.changes("k3@10=x"))
    table.overwrite(OperationType.DeletePartition, Set("p1"))
    loseMetadata(table)
    assert(begun.parts.nonEmpty && view(table).partitions == Seq("p0"))
    val base = view(table).slices("p0").head.base.get
    table.storage.createNew(s"copy/${base.name}", table.storage.read(base.path))
    assert(view(table).partitions == Seq("p0"))
  }

  test("lost metadata of an unpartitioned table is reported") {
    val s = storage
    table(storage = s)
    s.createNew(base("a", "100"), Array[Byte](1))
    val stat = io.merganser.table.timeline.WriteStat("a", base("a", "100"))
    instantFile(s, "100_110.commit", upserted(stat).copy(stats = Map("" -> Seq(stat))))
    val config = TableConfig.load(s)
    assert(conditionOf(new TableView(s, config, Timeline.load(s, config)).slices) == Missing)
  }
}
