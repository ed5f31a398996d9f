package io.merganser.spark.service

import io.merganser.spark.change.ChangeColumns
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.log.ChangeRecords
import io.merganser.table.options.{Names, Options}
import io.merganser.table.service.RestoreReport
import io.merganser.table.settings.KeylessTable
import org.apache.spark.sql.functions.{coalesce, col, concat_ws, count, expr, lit, struct, to_json}
import org.apache.spark.sql.{Column, DataFrame}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * The rows that a restore brings back, changes or removes: what the writes that it takes back have changed, from their
 * change data.
 */
private[service] object RestoredRows {

  /**
   * A restore reads no rows: where they cannot be read, as their files are damaged or cleaned or the table's merger is
   * not there, a step has the reason.
   *
   * @param most rows to show
   */
  def of(scope: ServiceScope, report: RestoreReport, most: Int): Seq[PreviewedStep] =
    if (report.takenBack.forall(_.operation.isEmpty)) Nil
    else if (KeylessTable.is(scope.table.config)) Seq(notShown("the table has no record key"))
    else
      try ServiceStep(scope.session, scope.table, "compare the rows of a restore")(compared(scope, report, most))
      catch { case NonFatal(e) => Seq(notShown(String.valueOf(e.getMessage))) }

  private def notShown(reason: String): PreviewedStep =
    PreviewedStep("count", "rows", detail = s"rows are not compared: $reason")

  private def compared(scope: ServiceScope, report: RestoreReport, most: Int): Seq[PreviewedStep] = {
    val rows = net(scope, report).persist()
    try {
      val counts           = rows.agg(count(col(Now)), count(col(Then)), count(lit(1))).head()
      val (are, were, all) = (counts.getLong(0), counts.getLong(1), counts.getLong(2))
      val shown            = rows.orderBy(Key).limit(most).collect().toSeq
      PreviewedStep.rows("rows that differ, as they are and as they were",
        "insert" -> (all - are), "update" -> (are + were - all), "delete" -> (all - were)) ++ shown.map { row =>
        val (now, past) = (Option(row.getString(1)), Option(row.getString(2)))
        val action      = if (now.isEmpty) "insert" else if (past.isEmpty) "delete" else "update"
        PreviewedStep(action, row.getString(0), before = now, after = past)
      }
    } finally { rows.unpersist(); () }
  }

  /** Two times that differ by a microsecond are two rows. */
  private val JsonOptions = Map(
    "ignoreNullFields" -> "false",
    "timestampFormat" -> "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "timestampNTZFormat" -> "yyyy-MM-dd HH:mm:ss.SSSSSS"
  )

  private val Key  = "key"
  private val Now  = "now"
  private val Then = "then"

  /**
   * The last write that completed before those that are taken back. What was requested before them may have completed
   * after them, and stays.
   */
  private def completedBefore(table: OpenTable, taken: Set[String]): Option[String] = {
    val writes = table.timeline.completed.map(i =>
      (if (table.config.layoutVersion < 2) i.requested else i.completed.getOrElse(i.requested), i.requested)).sorted
    writes.takeWhile { case (_, requested) => !taken(requested) }.lastOption.map(_._2)
  }

  /** The rows that differ: their key, and as JSON how they are and how they were; null for no row. */
  private def net(scope: ServiceScope, report: RestoreReport): DataFrame = {
    import scope._
    val classes = settings.mergerClasses
    val merger =
      if (classes.isEmpty) Map.empty[String, String] else Map(Options.MergerClasses.key -> classes.mkString(","))
    val taken = report.takenBack.map(_.instant).toSet
    val changes = session.read.format("merganser").options(merger ++ Map(
      Options.QueryType.key -> "incremental",
      Options.ChangesFormat.key -> "cdc",
      Options.ChangeImages.key -> "struct",
      Options.ChangesBegin.key -> completedBefore(table, taken).getOrElse("earliest")
    )).load(table.storage.basePath.toString).where(col(ChangeColumns.Instant).isInCollection(taken))
    val (before, after) = (ChangeRecords.Before, ChangeRecords.After)
    def path(name: String) =
      if (table.schema.fieldNames.contains(name)) Names.quoted(name)
      else Names.quotedPath(name)
    def field(name: String): Column = coalesce(col(s"$after.${path(name)}"), col(s"$before.${path(name)}"))
    val fields                      = (table.config.partitionFields ++ table.config.recordKeyFields).distinct
    val id                          = struct(fields.zipWithIndex.map { case (name, i) => field(name).as(s"f$i") }: _*)
    val shown                       = concat_ws(",", table.config.recordKeyFields.map(field(_).cast("string")): _*)
    val keyed = changes.withColumn("id", id).withColumn(Key, shown)
      .withColumn("order", struct(col(ChangeColumns.CompletionTime), col(ChangeColumns.Instant)))
    def json(image: String): Column = to_json(col(image), JsonOptions.asJava)
    keyed.withColumn("older", json(before)).withColumn("newer", json(after)).groupBy("id").agg(
      expr(s"first($Key)").as(Key),
      expr("max_by(struct(newer), order)").as("last"),
      expr("min_by(struct(older), order)").as("first")
    ).select(col(Key), col("last.newer").as(Now), col("first.older").as(Then))
      .where(!(col(Now) <=> col(Then)))
  }
}
