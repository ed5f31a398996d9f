package io.merganser.table.service

import io.merganser.table.{DrawnPoints, FaultyFileSystem, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.file.PartitionMetadata
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.commons.io.FileUtils
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.util.HadoopInputFile

import scala.collection.JavaConverters._

// Guarantee (Repairs and restores): Lost partitions and properties are restored; properties that contradict the table's
//   files or rows are refused. Also: PropertiesRepairSuite, test_lost_properties_are_recreated_and_wrong_ones_refused,
//   test_hudi_reads_and_writes_a_table_whose_partitions_and_properties_were_repaired
/** Partition metadata that is missing, or of the other form. */
final class PartitionRepairSuite extends TableSuite with CleaningFixture {

  private def repair(s: Storage) = new PartitionRepair(s)

  private val Text    = PartitionMetadata.Name
  private val Parquet = PartitionMetadata.ParquetName

  private def written(name: String, version: Int = 9): Storage = {
    val s = faulty(name)
    table(version, s)
    write(s, "100", Seq("a"))
    write(s, "200", Seq("a"))
    write(s, "300", Seq("b"), partition = "q/r")
    if (version < 8) completeInOrder(s)
    s
  }

  /** `path present repaired` of each folder. */
  private def added(s: Storage, dryRun: Boolean): Seq[String] = repair(s).add(dryRun).map(f =>
    s"${f.path} ${f.hasMetadata} ${f.isRepaired}")

  for (version <- Seq(6, 8, 9)) test(s"version $version: a folder with files of a commit becomes a partition again") {
    val s    = written("t", version)
    val live = show(view(s).slices)
    s.delete(s"p/$Text")
    s.createNew(s"copied/${base("a", "100")}", Array[Byte](1))
    s.createNew(s"failed/${base("c", "150")}", Array[Byte](1))
    s.createNew("notes/text", Array[Byte](1))
    val folders = Seq("copied false false", "failed false false", "p false false", "q/r true false")
    assert(added(s, dryRun = true) == folders && view(s).partitionsWithMetadata == Seq("q/r"))
    assert(added(s, dryRun = false) == folders.updated(2, "p false true"))
    assert(view(s).partitions == Seq("p", "q/r") && show(view(s).slices) == live)
    assert(s.readText(s"p/$Text").contains(s"commitTime=${t("100")}\npartitionDepth=1\n"))
    assert(added(s, dryRun = false).contains("p true false"))
  }

  test("a repair adds the metadata file of an unpartitioned table and leaves its subfolders") {
    val s = faulty("t")
    table(9, s)
    write(s, "100", Seq("a"), partition = "")
    s.delete(Text)
    assert(added(s, dryRun = false).contains(" false true") && view(s).partitions == Seq(""))
  }

  test("a migration replaces text metadata by Parquet and sets the table's property") {
    val s = written("t")
    assert(repair(s).migrate(dryRun = true).map(_.isMigrated) == Seq(true, true) && s.exists(s"p/$Text"))
    assert(repair(s).migrate(dryRun = false).map(f => (f.path, f.hasText, f.hasParquet, f.isMigrated)) ==
      Seq(("p", true, false, true), ("q/r", true, false, true)))
    val reader = ParquetFileReader.open(HadoopInputFile.fromPath(s.path(s"q/r/$Parquet"), s.conf))
    val footer =
      try reader.getFileMetaData.getKeyValueMetaData.asScala
      finally reader.close()
    assert(footer("commitTime") == t("300") && footer("partitionDepth") == "2")
    assert(!s.exists(s"p/$Text") && view(s).partitions == Seq("p", "q/r"))
    assert(TableConfig.load(s).properties("hoodie.partition.metafile.use.base.format") == "true")
    assert(repair(s).migrate(dryRun = false).forall(!_.isMigrated))
    s.delete(s"p/$Parquet")
    assert(added(s, dryRun = false).contains("p false true") && s.exists(s"p/$Parquet"))
  }

  for (
    (what, act) <- Seq[(String, Storage => Any)](
      "adding" -> (new PartitionRepair(_).add(dryRun = false)),
      "migrating" -> (new PartitionRepair(_).migrate(dryRun = false)))
  )
    test(s"a failure of $what at any operation loses no partition, and the next call completes it") {
      val prepared = written("prepared")
      if (what == "adding") prepared.delete(s"p/$Text")
      val before = view(prepared).partitionsWithMetadata.toSet
      def copied(name: String): Storage = {
        FileUtils.copyDirectory(folder.resolve("prepared").toFile, folder.resolve(name).toFile, true)
        faulty(name)
      }
      val operations = FaultyFileSystem.recorded(act(copied("whole")))
      val points = DrawnPoints.of(operations.indices.flatMap { i =>
        if (isChange(operations(i))) Seq(Before, After, Dead, Lost).map(i + 1 -> _) else Seq(i + 1 -> (Before: Fault))
      })
      for (((n, fault), i) <- points.zipWithIndex) {
        val s       = copied(s"point-$i")
        val (_, at) = FaultyFileSystem.failing(n, fault)(act(s))
        assert(before.subsetOf(view(s).partitionsWithMetadata.toSet), s"$fault at $at")
        act(s)
        assert(view(s).partitions == Seq("p", "q/r"), s"$fault at $at")
        assert(what == "adding" || (!s.exists(s"p/$Text") && s.exists(s"p/$Parquet")), s"$fault at $at")
        FileUtils.deleteDirectory(folder.resolve(s"point-$i").toFile)
      }
      info(s"${operations.size} operations, ${points.size} points")
    }

  test("a repair removes only pending cleans without a readable plan") {
    val s = written("t")
    s.createNew(s".hoodie/timeline/${t("400")}.clean.requested", "no plan".getBytes)
    s.createNew(s".hoodie/timeline/${t("400")}.clean.inflight", Array.emptyByteArray)
    assert(new CleanFilesRepair(s).run() == Seq(t("400")))
    assert(timeline(s).pendingCleans.isEmpty && new CleanFilesRepair(s).run().isEmpty)
    clean(s, commits(1))
  }
}
