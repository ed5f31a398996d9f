package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.LocalSession
import io.merganser.spark.service.{PreviewedStep, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.sql.CallParser
import io.merganser.table.TableSuite
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types._

/** A service is added by its call and a line in the list of procedures. */
final class AddedServiceSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  /** Marks instants of a table, in memory alone. */
  private object Marks {
    var marked: Seq[String] = Nil

    def planned(table: OpenTable, most: Option[Int]): Seq[String] = {
      val free = table.timeline.completed.map(_.requested).filterNot(marked.contains)
      most.fold(free)(free.take)
    }

    def run(scope: ServiceScope, most: Option[Int]): Seq[String] = {
      val done = planned(scope.table, most)
      marked ++= done
      done
    }
  }

  private object MarkInstants extends TableProcedure[String] {
    override val name = "mark_instants"

    override val parameters: Seq[Parameter] = Seq(
      Parameter.table,
      Parameter.path,
      Parameter("rows", IntegerType, "most instants to mark"),
      Parameter.filter,
      Parameter.options
    )

    override val columns = ResultColumns[String](string("instant", identity))

    override val preview: Option[Preview] = Some(Preview("marking", "rows")((scope, given) =>
        Marks.planned(scope.table, given.int("rows")).map(PreviewedStep("mark", _))))

    override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[String] =
      Marks.run(ServiceScope(session, table, arguments.settings(session, table)), arguments.int("rows"))
  }

  private val list = new ProcedureList(Seq(MarkInstants, RunClean))

  private def call(text: String): Seq[Row] = {
    val parser = new CallParser(spark, spark.sessionState.sqlParser, Set.empty, list)
    SparkBridge.ofRows(spark, parser.parsePlan(text)).collect().toSeq
  }

  test("a service is run by CALL, previewed by a dry run and listed by help") {
    val path = folder.resolve("t").toString
    for (number <- 1 to 3)
      spark.range(number.toLong, number + 1L).selectExpr("id", "id AS ts").write.format("merganser")
        .option("hoodie.table.name", "t").option("hoodie.datasource.write.recordkey.field", "id")
        .option("hoodie.table.ordering.fields", "ts").mode("append").save(path)
    val instants = OpenTable.load(spark, path).timeline.completed.map(_.requested)
    assert(instants.size == 3)
    val steps = call(s"CALL dry_run_service(service => 'mark_instants', path => '$path', rows => 2)")
    assert(steps.map(_.getString(1)) == instants.take(2))
    assert(steps.forall(_.getString(0) == "mark"))
    assert(Marks.marked.isEmpty)
    assert(call(s"CALL mark_instants(path => '$path', rows => 2)").map(_.getString(0)) == instants.take(2))
    assert(call(s"CALL dry_run_service(service => 'marking', path => '$path')").map(_.getString(1)) == instants.drop(2))
    assert(call(s"CALL mark_instants(path => '$path', filter => 'false')").isEmpty)
    assert(Marks.marked == instants)
    assert(call("CALL help()").map(_.getString(0)) == Seq("dry_run_service", "help", "mark_instants", "run_clean"))
    val refused = intercept[MerganserException](
      call(s"CALL dry_run_service(service => 'clean', path => '$path', rows => 1)"))
    assert(refused.condition == "CALL_ARGUMENT_INVALID")
    assert(refused.getMessage.contains("clean has no such argument"))
  }
}
