package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{ArchiveService, ServicePreviews}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.service.Archived
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types._

/** CALL archive_commits(table => … | path => …): moves old instants from the timeline to its history. */
object ArchiveCommits extends TableProcedure[(Archived, Long)] {
  override val name = "archive_commits"

  private val Retained = 10

  override val parameters = Seq(
    Parameter.table,
    Parameter.path,
    Parameter("min_commits", IntegerType, "number of completed writes that stay (hoodie.keep.min.commits)",
      default = Some("20")),
    Parameter("max_commits", IntegerType,
      "number of completed writes above which old ones are archived (hoodie.keep.max.commits)", default = Some("30")),
    Parameter("retain_commits", IntegerType, "number of writes that a clean retains: two more than that stay",
      default = Some(Retained.toString)),
    Parameter("enable_metadata", BooleanType, "no effect: a metadata table is never written", default = Some("true")),
    Parameter.options
  )

  override val measures = Seq("instants_archived")

  /** Hudi's column, which is 0, and what was archived. */
  override val columns = ResultColumns[(Archived, Long)](
    int("result", _ => 0),
    int("instants_archived", _._1.instants),
    string("first_instant", _._1.first.orNull),
    string("last_instant", _._1.last.orNull),
    int("commits_remaining", _._1.remaining),
    long("elapsed_ms", _._2)
  )

  override val preview = Some(Preview("archiving", "min_commits", "max_commits")((scope, given) =>
      ServicePreviews.archiving(scope, given.int("min_commits"), given.int("max_commits"))))

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[(Archived, Long)] = {
    val started = System.nanoTime()
    val least   = arguments.int("min_commits", least = 1)
    val most    = arguments.int("max_commits", least = 1)
    val done = ArchiveService.run(table, arguments.settings(session, table),
      _.keeping(least, most, arguments.int("retain_commits").orElse(Some(Retained))))
    Seq((done, (System.nanoTime() - started) / 1000000L))
  }
}
