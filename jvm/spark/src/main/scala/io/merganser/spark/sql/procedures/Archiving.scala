package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{ArchiveService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

/** CALL archive_commits(table => … | path => …): moves old instants from the timeline to its history. */
object ArchiveCommits extends TableProcedure {
  override val name = "archive_commits"

  private val Retained = 10

  override val parameters: Seq[Parameter] = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("min_commits", IntegerType, "completed writes that stay (hoodie.keep.min.commits)",
      default = Some("20")),
    Parameter("max_commits", IntegerType, "completed writes above which others move (hoodie.keep.max.commits)",
      default = Some("30")),
    Parameter("retain_commits", IntegerType, "writes that a clean retains: two more than these stay",
      default = Some(Retained.toString)),
    Parameter("enable_metadata", BooleanType, "no effect: a metadata table is never written",
      default = Some("true")),
    Parameter.options
  )

  override val measures: Seq[String] = Seq("instants_archived")

  /** Hudi's column, which is 0, and what was archived. */
  override val result: StructType = Procedure.columns(
    "result" -> IntegerType,
    "instants_archived" -> IntegerType,
    "first_instant" -> StringType,
    "last_instant" -> StringType,
    "commits_remaining" -> IntegerType,
    "elapsed_ms" -> LongType
  )

  override val preview: Option[Preview] = Some(Preview("archiving", "min_commits", "max_commits")((scope, given) =>
      ServicePreviews.archiving(scope, given.int("min_commits"), given.int("max_commits"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[Row] = {
    val started = System.nanoTime()
    for (name <- Seq("min_commits", "max_commits"); value <- arguments.int(name) if value < 1)
      throw arguments.invalid(name, value.toString, "1 or more")
    val done = ArchiveService.run(table, arguments.settings(session, table),
      _.keeping(arguments.int("min_commits"), arguments.int("max_commits"),
        arguments.int("retain_commits").orElse(Some(
            Retained))))
    Seq(Row(0, done.instants, done.first.orNull, done.last.orNull, done.remaining,
        (System.nanoTime() - started) / 1000000L))
  }
}
