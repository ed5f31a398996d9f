package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.StoredKeyForm
import io.merganser.table.commit.{Rollback, TableUpgrade, Transaction}
import io.merganser.table.file.FileNames
import io.merganser.table.service.RestoreReport
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.ClusteringSlice

/** What services of a table would do now. Nothing is changed, and no lock is taken. */
object ServicePreviews {

  def clean(scope: ServiceScope): Seq[PreviewedStep] =
    CleaningService.preview(scope.table, scope.settings).files.map(f =>
      PreviewedStep("delete", f.path, None, 1, f.sizeBytes))

  def archiving(scope: ServiceScope, least: Option[Int], most: Option[Int]): Seq[PreviewedStep] = {
    val limits = scope.settings.archive.keeping(least, most, retained = None)
    ArchiveService.preview(scope.table, scope.settings.copy(archive = limits)).map(i =>
      PreviewedStep("archive", i.requested, detail = i.action.name))
  }

  def savepoint(table: OpenTable, instant: Option[String]): Seq[PreviewedStep] = {
    val (write, files) = SavepointService.of(table).preview(instant)
    files.toSeq.sortBy(_._1).map { case (path, names) =>
      PreviewedStep("keep", write, Some(path), names.size, detail = names.mkString(", "))
    }
  }

  def deletedSavepoint(table: OpenTable, instant: Option[String]): Seq[PreviewedStep] =
    Seq(PreviewedStep("delete", SavepointService.of(table).find(instant).requested, detail = "savepoint"))

  def restored(scope: ServiceScope, report: RestoreReport, rows: Int): Seq[PreviewedStep] =
    target(scope.table, report).toSeq ++ rolledBack(scope, report, rows)

  def rolledBack(scope: ServiceScope, report: RestoreReport, rows: Int): Seq[PreviewedStep] =
    takenBack(report) ++ RestoredRows.of(scope, report, rows) ++ deleted(report)

  def repairedDuplicates(scope: ServiceScope, partition: Option[String], rows: Int): Seq[PreviewedStep] =
    duplicates(DuplicateRepair.preview(scope.keyed, partition, rows))

  def repairedPartitions(scope: ServiceScope): Seq[PreviewedStep] =
    RepairService.partitions(scope.table, scope.settings).add(dryRun = true).filterNot(_.hasMetadata).map(folder =>
      PreviewedStep("add", FileNames.path(folder.path, ".hoodie_partition_metadata"), Some(folder.path)))

  def repairedProperties(scope: ServiceScope): Seq[PreviewedStep] =
    PropertiesService.restore(scope.session, scope.table.storage.basePath.toString, Map.empty, dryRun = true)._2.map(
      change => set(change.key, change.before, change.after))

  def removedOrphans(table: OpenTable, olderThan: Option[Long]): Seq[PreviewedStep] =
    RepairService.orphans(table, olderThan).map(f => PreviewedStep("delete", f.path, None, 1, f.sizeBytes, f.reason))

  private def of(action: String, slice: FileSlice, detail: String): PreviewedStep =
    PreviewedStep(action, slice.fileId, Some(slice.partitionPath), slice.base.size + slice.logs.size, slice.sizeBytes,
      detail)

  def compaction(scope: ServiceScope): Seq[PreviewedStep] = {
    import scope._
    CompactionService.requireLogs(table)
    settings.rule
    val planned = table.timeline.pendingCompactions.flatMap(i => table.timeline.compactionPlan(i).groups).toSet
    val chosen  = CompactionService.plan(table, settings, listsAll = true, yields = false).toSeq.flatMap(_.groups).toSet
    table.view.slicesOf(planned ++ chosen).filter(_.logs.nonEmpty).map { slice =>
      of("compact", slice,
        s"${slice.logs.size} log files are merged into a base file" +
          (if (planned(slice.group)) ", as planned before" else ""))
    }
  }

  def logCompaction(scope: ServiceScope): Seq[PreviewedStep] = {
    import scope._
    CompactionService.requireLogs(table)
    LogCompactionService.chosen(scope).map { slice =>
      PreviewedStep("compact", slice.fileId, Some(slice.partitionPath), slice.logs.size,
        slice.logs.map(_.sizeBytes).sum, s"${slice.logs.size} log files are merged into one")
    }
  }

  def clustering(scope: ServiceScope): Seq[PreviewedStep] = {
    import scope._
    ClusteringService.check(table, settings)
    val planned = table.timeline.plannedClusterings.flatMap(_._2.groups)
    val chosen  = ClusteringService.plan(table, settings).toSeq.flatMap(_.groups)
    val groups  = planned.map(_ -> true) ++ chosen.map(_ -> false)
    val slices  = table.view.slicesOf(groups.flatMap(_._1.slices.map(_.group)).toSet).map(s => s.group -> s).toMap
    groups.zipWithIndex.flatMap { case ((group, isPlanned), number) =>
      group.slices.flatMap((slice: ClusteringSlice) => slices.get(slice.group)).map { slice =>
        of("cluster", slice,
          s"group ${number + 1}: ${group.slices.size} file groups become ${group.outputGroups}" +
            (if (isPlanned) ", as planned before" else ""))
      }
    }
  }

  /** The write that the table goes back to, if that changes anything. */
  private def target(table: OpenTable, report: RestoreReport): Option[PreviewedStep] =
    table.timeline.completed.find(write => report.takenBack.nonEmpty && report.newest.contains(write.requested)).map {
      write =>
        val completed = write.completed.fold("")(time => s", completed $time")
        PreviewedStep("restore", write.requested,
          detail = table.timeline.metadata(write).operationType.name + completed)
    }

  private def takenBack(report: RestoreReport): Seq[PreviewedStep] = report.takenBack.map(t =>
    PreviewedStep("roll back", t.instant,
      detail = t.operation.fold(t.action)(operation =>
        s"$operation: ${t.inserted} inserted, ${t.updated} updated, ${t.deleted} deleted")))

  private def deleted(report: RestoreReport): Seq[PreviewedStep] =
    report.files.map(f => PreviewedStep("delete", f.path, None, 1, f.sizeBytes))

  /** Copies as they are, and the row of each key as it becomes. */
  private def duplicates(preview: DuplicatePreview): Seq[PreviewedStep] =
    if (preview.keys == 0) Nil
    else
      PreviewedStep.rows(s"rows of ${preview.keys} keys", "insert" -> preview.merged, "delete" -> preview.removed,
        "keep" -> (preview.copies - preview.removed)) ++ preview.rows.map { copy =>
        val isMerged = copy.commitTime.isEmpty
        val action   = if (isMerged) "insert" else if (copy.wins) "keep" else "delete"
        val from     = copy.commitTime.fold("made of the copies by the rule")(time => s"written by $time")
        PreviewedStep(action, copy.key, Some(copy.partitionPath),
          detail = if (copy.fileId.isEmpty) from else s"$from, in file group ${copy.fileId}",
          before = Some(copy.row).filterNot(_ => isMerged), after = Some(copy.row).filter(_ => copy.wins))
      }

  def failedWrites(scope: ServiceScope): Seq[PreviewedStep] = {
    import scope._
    Rollback.preview(table.storage, table.config, Transaction.Options.of(settings), table.timeline).map(i =>
      PreviewedStep("roll back", i.requested, detail = s"${i.action}, ${i.state.shown}"))
  }

  /** The properties as they become, and the rows that the rule of the payload class merges otherwise then. */
  def upgrade(scope: ServiceScope, rows: Int): Seq[PreviewedStep] = {
    import scope._
    val config   = table.config
    val upgraded = TableUpgrade.preview(config, table.schema)
    val keys     = (config.properties.keySet ++ upgraded.properties.keySet).toSeq.sorted
    val changes = keys.filter(key => config.properties.get(key) != upgraded.properties.get(key)).map(key =>
      set(key, config.properties.get(key), upgraded.properties.get(key)))
    if (config.version >= upgraded.version) Nil
    else {
      StoredKeyForm.requireUpgradable(session, settings, table)
      val logs = if (config.isMergeOnRead) table.view.slices.filter(_.logs.nonEmpty) else Nil
      failedWrites(scope) ++ logs.map(of("compact", _, "an upgrade merges logs first")) ++ changes ++
        RuleComparison.ofUpgrade(scope, upgraded, rows).steps
    }
  }

  private def set(property: String, before: Option[String], after: Option[String]): PreviewedStep =
    PreviewedStep("set", property, before = before, after = after,
      detail = s"${before.getOrElse("not set")} -> ${after.getOrElse("not set")}")
}
