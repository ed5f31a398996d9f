package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException

/** The procedures of SQL and of programs. */
object Procedures
    extends ProcedureList(Seq(
        ApplySourceChanges,
        ArchiveCommits,
        ChangeRule,
        CheckKeys,
        CheckRule,
        CompareRule,
        CreateSavepoint,
        CreateTable,
        CreateTableForChanges,
        DeleteSavepoint,
        DescribeTable,
        DryRunOf,
        ExplainRecord,
        RestoreToInstant,
        RemoveOrphanFiles,
        RepairAddPartitionMeta,
        RepairCorruptedCleanFiles,
        RepairDeduplicate,
        RepairMigratePartitionMeta,
        RepairOverwriteHoodieProps,
        RepairProperties,
        RollbackFailedWrites,
        RollbackToInstant,
        RollbackToSavepoint,
        RunClean,
        RunClustering,
        RunCompaction,
        RunLogCompaction,
        RunStatement,
        ShowArchivedCommits,
        ShowCleanPlans,
        ShowCleans,
        ShowCleansMetadata,
        ShowClustering,
        ShowCommitFiles,
        ShowCommitPartitions,
        ShowCommits,
        ShowCommitsMetadata,
        ShowCompaction,
        ShowDryRun,
        ShowFileSlices,
        ShowRestores,
        ShowRollbackDetail,
        ShowHistory,
        ShowMergeConfig,
        ShowInvalidParquet,
        ShowOrphanFiles,
        ShowRollbacks,
        ShowSavepoints,
        ShowServices,
        ShowTableProperties,
        ShowTimeline,
        StartServices,
        StopServices,
        UpgradeTable,
        VerifyTable,
        WriteRows
      ))

/** Procedures, with those that are about them: their help, and the dry runs of their services. */
private[sql] class ProcedureList(own: => Seq[Procedure[_]]) {

  lazy val all: Seq[Procedure[_]] = (own ++ Seq(new DryRunOfService(own), new Help(all))).sortBy(_.name)

  def byName(name: String): Option[Procedure[_]] = all.find(_.name.equalsIgnoreCase(name))

  /** The error of a name that no procedure has. */
  def unknown(name: String): MerganserException = Procedure.unknown(name, all.map(_.name))
}
