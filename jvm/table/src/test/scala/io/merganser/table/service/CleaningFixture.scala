package io.merganser.table.service

import java.time.{Clock, Instant => Time, ZoneOffset}

import io.merganser.table.TableSuite
import io.merganser.table.file.{FileGroupId, FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.{CleaningConfig, CleaningPolicy}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline._

/** Tables of named files whose commits name them, and cleans of such tables. */
trait CleaningFixture { this: TableSuite =>

  protected def commits(count: Int): CleaningConfig = cleaning(CleaningPolicy.Commits(count))

  protected def versions(count: Int): CleaningConfig = cleaning(CleaningPolicy.Versions(count))

  protected def cleaning(policy: CleaningPolicy): CleaningConfig =
    CleaningConfig(automatic = true, policy, triggerCommits = 1, isIncremental = true)

  protected def timeline(s: Storage): Timeline = Timeline.load(s, TableConfig.load(s))

  /** Tests name instants by their milliseconds: 100 is 20200101000000100. */
  protected def t(instant: String): String = if (instant.length == 3) Day + instant else instant

  /** The same long after now: later than the cleans of a test. */
  protected def later(instant: String): String = "29990101000000" + instant

  override protected def base(fileId: String, instant: String): String = FileNames.base(fileId, "0-0-0", t(instant))

  private val Day = "20200101000000"

  protected def short(text: Seq[String]): Seq[String] = text.map(_.replace(Day, ""))

  protected def clockAt(time: String): Clock = Clock.fixed(Time.parse(time), ZoneOffset.UTC)

  protected def clean(s: Storage, how: CleaningConfig, clock: Clock = Clock.systemUTC): Seq[CleanReport] =
    new Cleaning(s, TableConfig.load(s), how, clock = clock).automatic()

  protected def preview(s: Storage, how: CleaningConfig, clock: Clock = Clock.systemUTC): Set[String] =
    new Cleaning(s, TableConfig.load(s), how, clock = clock).preview().files.map(_.name).toSet

  /** Data files of a partition. */
  protected def data(s: Storage, partition: String = "p"): Set[String] =
    names(s, partition).filter(FileNames.fileId(_).isDefined)

  /** Path of a group's change file. */
  protected def changeFile(fileId: String, instant: String, partition: String = "p"): String =
    s"$partition/.${fileId}_${t(instant)}.log.1_0-0-0.cdc"

  /** A completed write of base files, each of a group, with change files of some, and of logs of others. */
  protected def write(
      s: Storage,
      time: String,
      bases: Seq[String] = Nil,
      logs: Seq[String] = Nil,
      partition: String = "p",
      action: String = "commit",
      completed: Option[String] = None,
      replaced: Seq[String] = Nil,
      operation: OperationType = OperationType.Upsert,
      changes: Seq[String] = Nil
  ): Unit = {
    val instant = t(time)
    PartitionMetadata.write(s, partition, instant)
    def existing(fileId: String) = data(s, partition).filter(n => !FileNames.isLog(n)).flatMap(FileNames.parseBase(
        partition, _, 0)).filter(_.fileId == fileId).map(_.instant)
    val config = TableConfig.load(s)
    val baseStats = bases.map { id =>
      val before = (existing(id) + "null").min
      s.createNew(s"$partition/${base(id, instant)}", Array[Byte](1))
      val changed = changes.filter(_ == id).map(changeFile(_, time, partition))
      changed.foreach(s.createNew(_, Array[Byte](1)))
      WriteStat(id, s"$partition/${base(id, instant)}", if (existing(id).size > 1) before else "null",
        fileSizeInBytes = 1, partitionPath = partition, cdcStats = changed.map(_ -> 1L).toMap)
    }
    val logStats = logs.map { id =>
      val named = if (config.version < 8) existing(id).max else instant
      val name  = log(id, named, version = names(s, partition).size + 1)
      s.createNew(s"$partition/$name", Array[Byte](1))
      WriteStat(id, s"$partition/$name", named, fileSizeInBytes = 1, partitionPath = partition)
    }
    val metadata = CommitMetadata(operation, Map(partition -> (baseStats ++ logStats)).filter(_._2.nonEmpty), Map.empty,
      if (replaced.isEmpty) Map.empty else Map(partition -> replaced))
    val isReplace = action == "replacecommit"
    val content =
      if (config.version >= 8) CommitMetadata.encodeAvro(metadata, isReplace)
      else CommitMetadataJson.encode(metadata, isReplace)
    val name =
      if (config.version < 8) s"$instant.$action" else s"${instant}_${completed.fold(following(instant))(t)}.$action"
    s.createNew(s"${config.timelineFolder}/$name", content)
  }

  /** Modification times tell when writes of version 6 completed: half a second after their instants. */
  protected def completeInOrder(s: Storage): Unit =
    s.list(".hoodie").filter(_.isFile).foreach { f =>
      InstantTime.parse(f.getPath.getName.takeWhile(_.isDigit)).foreach(instant =>
        s.fs.setTimes(f.getPath, instant.toInstant(ZoneOffset.UTC).toEpochMilli + 500, -1))
    }

  private def following(instant: String) = InstantTime.format(InstantTime.parse(instant).get.plusNanos(5000000L))

  protected def savepoint(s: Storage, instant: String, files: Map[String, Seq[String]]): Unit =
    s.createNew(s".hoodie/timeline/${t(instant)}_${t("990")}.savepoint", CleanFixture.savepoint(files))

  protected def plan(s: Storage, instant: String, action: String, fileId: String, baseInstant: String): Unit =
    s.createNew(s".hoodie/timeline/${t(instant)}.$action.requested",
      CompactionPlan.encode(CompactionPlan(Seq(CompactionPlan.operation(FileGroupId("p", fileId), t(baseInstant), None,
              Nil)))))
}
