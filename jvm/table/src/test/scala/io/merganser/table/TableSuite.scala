package io.merganser.table

import java.nio.file.{Files, Path => NioPath}

import io.merganser.merge.MerganserException
import io.merganser.table.commit.{Creation, Transaction}
import io.merganser.table.file.{FileGroupId, FileNames, Marker, MarkerKind, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{FileSlice, TableView}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CommitMetadata, CompactionPlan, OperationType, Timeline, WriteStat}
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

/** Tables made of named files without rows: enough to see what is visible. */
abstract class TableSuite extends AnyFunSuite with BeforeAndAfterEach {

  protected var folder: NioPath = _

  override protected def beforeEach(): Unit = {
    super.beforeEach()
    folder = Files.createTempDirectory("merganser-table")
  }

  override protected def afterEach(): Unit = {
    org.apache.hadoop.fs.FileUtil.fullyDelete(folder.toFile)
    super.afterEach()
  }

  protected def storage: Storage = Storage(folder.resolve("t").toUri.toString, HadoopDefaults.shared)

  protected def faulty(name: String): Storage =
    Storage(s"faulty://${folder.resolve(name)}", FaultyFileSystem.configuration)

  protected def properties(version: Int = 9, mergeOnRead: Boolean = true): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.table.version" -> version.toString,
    "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1"),
    "hoodie.table.recordkey.fields" -> "id",
    "hoodie.table.partition.fields" -> "part",
    "hoodie.table.timeline.timezone" -> "UTC",
    "hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING"
  )

  protected def table(version: Int = 9, storage: Storage = storage): TableConfig =
    Creation.create(storage, properties(version))

  protected def view(storage: Storage): TableView = {
    val config = TableConfig.load(storage)
    new TableView(storage, config, Timeline.load(storage, config))
  }

  /** `fileId@base:log,log` of each slice, with instants; `-` for no base file. */
  protected def show(slices: Seq[FileSlice]): Seq[String] =
    slices.map(s => s"${s.fileId}@${s.base.fold("-")(_.instant)}:${s.logs.map(_.instant).mkString(",")}")

  /** A file of the timeline: `100_150.deltacommit`, with metadata if it completed. */
  protected def instantFile(
      storage: Storage,
      name: String,
      metadata: CommitMetadata = CommitMetadata(OperationType.Upsert, Map.empty, Map.empty)
  ): Unit = {
    val config = TableConfig.load(storage)
    val bytes =
      if (name.endsWith(".requested") || name.endsWith(".inflight")) Array.emptyByteArray
      else CommitMetadata.encodeAvro(metadata, isReplace = name.endsWith(".replacecommit"))
    storage.createNew(s"${config.timelineFolder}/$name", bytes)
  }

  /** Files of the timeline, without write statistics. */
  protected def instantFiles(storage: Storage, names: String*): Unit = names.foreach(instantFile(storage, _))

  protected def compactionFile(storage: Storage, instant: String, fileIds: String*): Unit =
    storage.createNew(
      s"${TableConfig.load(storage).timelineFolder}/$instant.compaction.requested",
      CompactionPlan.encode(CompactionPlan(fileIds.map(id =>
            CompactionPlan.operation(FileGroupId("p", id), "1", None, Nil))))
    )

  protected def partition(storage: Storage, files: String*): Unit = {
    PartitionMetadata.write(storage, "p", "1")
    files.foreach(name => storage.createNew(s"p/$name", Array[Byte](1)))
  }

  protected def base(fileId: String, instant: String): String = FileNames.base(fileId, "0-0-0", instant)

  protected def log(fileId: String, instant: String, version: Int = 1): String =
    FileNames.log(fileId, instant, version, "0-0-0")

  /** Writes one base file of a new group, with its marker, as a task would. */
  protected def writeBase(
      storage: Storage,
      transaction: Transaction,
      fileId: String,
      kind: MarkerKind = MarkerKind.Create,
      token: String = ""
  ): WriteStat = {
    val name =
      FileNames.base(fileId, if (token.isEmpty) s"0-${transaction.runNumber}-0" else token, transaction.instant)
    transaction.markers.create(Marker("p", name, kind))
    val out = storage.fs.create(storage.path(s"p/$name"), false)
    try out.write(1)
    finally out.close()
    WriteStat(fileId, s"p/$name", numWrites = 1, fileSizeInBytes = 1, partitionPath = "p")
  }

  protected def upserted(stats: WriteStat*): CommitMetadata =
    CommitMetadata(OperationType.Upsert, Map("p" -> stats), Map("schema" -> "\"string\""))

  protected def conditionOf(body: => Any): String = intercept[MerganserException](body).condition

  /** Names of the files in a folder, hidden ones of the local file system left out. */
  protected def names(storage: Storage, folder: String): Set[String] =
    storage.list(folder).map(_.getPath.getName).filterNot(_.endsWith(".crc")).toSet
}
