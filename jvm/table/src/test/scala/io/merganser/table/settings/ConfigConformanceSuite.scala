package io.merganser.table.settings

import java.nio.file.{Files, Paths}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, WriteSource}
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

/** Recorded cases about settings, by NewTable and WriteConfig alone: what is stored, and which step fails. */
class ConfigConformanceSuite extends AnyFunSuite {

  /** By decision, not as recorded: these are refused earlier. */
  private val refusedFirst = Map(
    "chg-both-ordering-keys-cow" ->
      "two names for the ordering field with different values are refused at the first write"
  )
  private val refusedSecond = Map(
    "chg-payload-other-mor" -> "another payload class at a later write is refused"
  )

  /** By decision: what lets CREATE succeed and every write fail is refused by CREATE. */
  private val refusedAtCreation = Set("cfg-sql-strategy")

  /** By decision: the mode by its stored name counts when a frame creates the table, and later writes agree with it. */
  private val modeByStoredName = Set("chg-merge-mode-table-key-cow")

  private val mergeKeys = Seq("hoodie.record.merge.mode", "hoodie.record.merge.strategy.id", "hoodie.table.version",
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class", "hoodie.table.partial.update.mode", "hoodie.table.ordering.fields")

  for (file <- Seq("config-create.json", "config-change.json"); recorded <- cases(file)) {
    val id = recorded.get("id").asText
    test(s"$file $id: the stored properties and the failing step are as recorded") {
      if (recorded.get("table").get("create").asText == "sql") playSql(recorded) else playFrames(recorded)
    }
  }

  test("the recorded suites contain their expected number of cases") {
    assert(Seq("config-create.json", "config-change.json").map(cases(_).size) == Seq(69, 14))
  }

  private def playSql(recorded: JsonNode): Unit = {
    val table = recorded.get("table")
    val options =
      optionsOf(table, None) ++ Map("type" -> table.get("type").asText, "primaryKey" -> names(table.get("key")),
        "orderingFields" -> names(table.get("ordering")))
    val created = outcome(NewTable.properties(options, schemaOf(table), "t", bySql = true))
    if (refusedAtCreation(recorded.get("id").asText)) assert(condition(created) == "OPTION_CONFLICT")
    else if (recorded.has("expect_create")) assert(created.isLeft)
    else {
      checkConfig(recorded.get("steps").get(0).get("expect"), created.fold(throw _, identity))
      for (step <- recorded.get("steps").asScala) {
        val written =
          outcome(WriteConfig.parse(Map.empty, Map.empty, TableConfig(created.toOption.get), WriteSource.SqlInsert))
        checkStep(recorded, step, written)
      }
    }
  }

  private def playFrames(recorded: JsonNode): Unit = {
    val id                                = recorded.get("id").asText
    val table                             = recorded.get("table")
    var made: Option[Map[String, String]] = None
    for ((step, at) <- recorded.get("steps").asScala.zipWithIndex) {
      val options = optionsOf(table, Option(step.get("options"))) + ("hoodie.datasource.write.operation" -> step.get(
        "operation").asText)
      val creating   = made.isEmpty
      val properties = made.fold(outcome(NewTable.properties(options, schemaOf(table), "t")))(Right(_))
      val written =
        properties.flatMap(p => outcome(WriteConfig.parse(options, Map.empty, TableConfig(p), creating = creating)))
      if (refusedFirst.contains(id)) assert(condition(written) == "OPTION_CONFLICT")
      else if (refusedSecond.contains(id) && at == 1) assert(condition(written) == "CONFIG_CONFLICT")
      else if (modeByStoredName.contains(id))
        assert(written.isRight && properties.exists(_("hoodie.record.merge.mode") == "COMMIT_TIME_ORDERING"))
      else {
        checkStep(recorded, step, written)
        if (Option(step.get("expect")).exists(_.has("table_config")))
          checkConfig(step.get("expect"), properties.fold(throw _, identity))
      }
      if (
        creating && (written.isRight || condition(written) == "MERGE_RULE_UNAVAILABLE") && (modeByStoredName.contains(
          id) || !fails(step))
      ) made = properties.toOption
    }
  }

  private def fails(step: JsonNode): Boolean = Option(step.get("expect")).exists(_.has("error"))

  /** A step whose rule is not built in is refused when it would merge: its table's settings are what counts here. */
  private def checkStep(recorded: JsonNode, step: JsonNode, written: Either[MerganserException, WriteConfig]): Unit = {
    val id = recorded.get("id").asText
    if (fails(step)) {
      assert(written.isLeft, s"$id must fail")
      for (mention <- step.get("expect").get("error").get("mentions").asScala.map(_.asText) if named(mention))
        assert(written.left.toOption.get.getMessage.contains(mention), s"$id must name $mention")
    } else assert(written.isRight || condition(written) == "MERGE_RULE_UNAVAILABLE",
      s"$id: ${written.left.toOption.map(_.getMessage)}")
  }

  /** Names that our message has too: the option, modes and classes; not Hudi's advice about other options. */
  private def named(mention: String): Boolean =
    !mention.startsWith("hoodie.") || mention == "hoodie.write.record.merge.mode"

  private def checkConfig(expect: JsonNode, properties: Map[String, String]): Unit = {
    val recorded = expect.get("table_config").fields().asScala.map(e => e.getKey -> e.getValue.asText).toMap
    val ours = properties.filter { case (key, _) =>
      mergeKeys.contains(key) || key.startsWith(Options.MergePropertyPrefix)
    }
    assert(ours == recorded)
  }

  private def outcome[T](run: => T): Either[MerganserException, T] =
    try Right(run)
    catch { case e: MerganserException => Left(e) }

  private def condition(outcome: Either[MerganserException, _]): String = outcome.fold(_.condition, _ => "no error")

  private def optionsOf(table: JsonNode, ofStep: Option[JsonNode]): Map[String, String] = {
    val frame = Map("hoodie.datasource.write.recordkey.field" -> names(table.get("key")),
      "hoodie.table.ordering.fields" -> names(table.get("ordering")),
      "hoodie.datasource.write.table.type" -> (if (table.get("type").asText == "mor") "MERGE_ON_READ"
                                               else "COPY_ON_WRITE"),
      "hoodie.table.name" -> "t")
    val base = if (table.get("create").asText == "sql") Map.empty[String, String] else frame
    val configured =
      (Option(table.get("options")).toSeq ++ ofStep).flatMap(_.fields().asScala.map(e => e.getKey -> e.getValue.asText))
    configured.foldLeft(base) { case (all, (key, value)) =>
      if (value == "$unset") all - key else all + (key -> value)
    }.filter(_._2.nonEmpty)
  }

  private def names(list: JsonNode): String = list.asScala.map(_.asText).mkString(",")

  private def schemaOf(table: JsonNode): StructType =
    StructType.fromDDL(table.get("schema").asScala.map(c => s"`${c.get(0).asText}` ${c.get(1).asText}").mkString(", "))

  private def cases(file: String): Seq[JsonNode] = {
    val path = Paths.get(sys.props.getOrElse("merganser.root", "."), "tests", "conformance", file)
    new ObjectMapper().readTree(Files.readAllBytes(path)).get("cases").asScala.toSeq
  }
}
