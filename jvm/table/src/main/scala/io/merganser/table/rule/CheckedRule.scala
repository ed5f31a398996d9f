package io.merganser.table.rule

import com.fasterxml.jackson.databind.JsonNode
import io.merganser.merge.Json
import io.merganser.merge.laws.{LawResult, RuleLaw}
import io.merganser.table.properties.TableConfig

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.time.temporal.ChronoUnit.SECONDS
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.Try

/**
 * What the last check of a table's rule found, stored beside the rule. It is evidence: that a law held for all cases
 * proves nothing and is only shown. That it was refuted is a fact, and is used: the law is not relied on, whatever a
 * merger states.
 *
 * @param rule    id of the rule that was checked
 * @param at      when, in UTC
 * @param cases   most that were tried for a law
 * @param records rows of the table whose values were among those that were tried
 * @param held    names of laws
 * @param refuted names of laws
 */
final case class CheckedRule(
    rule: String,
    at: Instant,
    cases: Int,
    records: Int,
    held: Seq[String],
    refuted: Seq[String]
) {

  def refutes(law: RuleLaw): Boolean = refuted.contains(law.name)

  /** As tables store it: JSON. */
  def text: String = {
    val node = Json.createObjectNode().put("version", CheckedRule.Version).put("rule", rule)
      .put("at", at.toString).put("cases", cases).put("records", records)
    for ((key, names) <- Seq("held" -> held, "refuted" -> refuted)) {
      val array = node.putArray(key)
      names.foreach(name => array.add(name))
    }
    node.toString
  }
}

object CheckedRule {
  private val Version = 1

  def apply(config: TableConfig, results: Seq[LawResult], records: Int): CheckedRule = {
    def names(holds: Boolean) = results.filter(_.holds.contains(holds)).map(_.law.name)
    CheckedRule(idOf(config), Instant.now().truncatedTo(SECONDS), results.map(_.cases).foldLeft(0)(math.max), records,
      names(true), names(false))
  }

  /** The check that a table stores; None if it is of another rule than the table has now, or cannot be read. */
  def of(config: TableConfig): Option[CheckedRule] =
    config.ruleChecked.flatMap(parse).filter(_.rule == idOf(config))

  /** The same for equal rules: of whatever the table stores that decides how rows are merged. */
  def idOf(config: TableConfig): String = {
    val parts = Seq(MergeMode.of(config).name, config.rule.fold("")(_.text), config.orderingFields.mkString(",")) ++
      Seq("hoodie.record.merge.strategy.id", "hoodie.table.legacy.payload.class", "hoodie.compaction.payload.class",
        "hoodie.table.partial.update.mode").map(config.properties.getOrElse(_, "")) ++
      config.mergeProperties.toSeq.sorted.map(_.toString)
    UUID.nameUUIDFromBytes(parts.mkString("\n").getBytes(UTF_8)).toString
  }

  private def parse(text: String): Option[CheckedRule] = Try {
    val node                        = Json.readTree(text)
    def names(key: String)          = node.get(key).elements().asScala.map(_.asText).toList
    def part(key: String): JsonNode = node.get(key)
    require(part("version").asInt == Version)
    CheckedRule(part("rule").asText, Instant.parse(part("at").asText), part("cases").asInt, part("records").asInt,
      names("held"), names("refuted"))
  }.toOption
}
