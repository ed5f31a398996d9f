package io.merganser.testing

import io.merganser.merge.laws.{LawResult, RuleCheck, RuleLaw}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.RuleLaws
import io.merganser.table.settings.{NewTable, WriteConfig}
import org.apache.spark.sql.types.StructType

/**
 * Checks the laws of a merge rule on random versions of a row, for tests of your own rule: a merger, a payload class,
 * or functions of columns. Neither a table nor a session is needed.
 */
object MergeLaws {

  /**
   * Tries each law; the result of one that does not hold shows the smallest versions found that break it.
   *
   * @param columns the columns of a table
   * @param options those of a write that creates it: key columns, ordering fields, the rule, classes of mergers
   * @param cases   how many random cases to try for each law
   * @param seed    of the random cases: the same seed tries the same cases
   * @param conf    a session's configuration, whose settings of writes apply unless `options` sets them
   * @throws io.merganser.merge.MerganserException what the creation of such a table throws
   */
  def check(
      columns: StructType,
      options: Map[String, String],
      cases: Int = RuleCheck.DefaultCases,
      seed: Long = 0,
      conf: Map[String, String] = Map.empty
  ): Seq[LawResult] = {
    val stored   = AvroSchemas.stored(columns)
    val config   = TableConfig(NewTable.properties(options, stored, "a table", sessionConf = conf))
    val settings = WriteConfig.parse(options, conf, config, creating = true)
    RuleLaws.check(settings.rule, config, stored, Nil, cases, seed)
  }

  /**
   * Fails unless the laws hold.
   *
   * @param laws such as [[RuleLaw.Associative]]; empty for all that apply to the rule
   * @throws AssertionError with the versions for which a law does not hold, and their results
   */
  def assertHold(
      columns: StructType,
      options: Map[String, String],
      laws: Seq[RuleLaw] = Nil,
      cases: Int = RuleCheck.DefaultCases,
      seed: Long = 0
  ): Unit = {
    val results = check(columns, options, cases, seed).filter(result => laws.isEmpty || laws.contains(result.law))
    val broken  = results.filter(_.holds.contains(false)) ++ results.filter(laws.nonEmpty && _.holds.isEmpty)
    if (broken.nonEmpty) throw new AssertionError(broken.mkString("\n"))
  }
}
