package io.merganser.table.rule

import io.merganser.merge.laws.{LawResult, RuleCheck, RuleLaw, RuleOfLayout}
import io.merganser.merge.{MerganserException, MissingValues}
import io.merganser.merge.payload.Debezium
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType

/** Checks the laws of a table's merge rule on random versions of a row. */
object RuleLaws {

  /** Cases that are tried before each write. */
  private val CasesOfWrite = 200

  /**
   * Refuses a merger that states a law that does not hold: rows would depend on how they came to be merged.
   *
   * @param columns the user's columns
   * @throws MerganserException MERGER_NOT_ASSOCIATIVE with the counterexample
   */
  def requireStated(stored: StoredRule, config: TableConfig, columns: StructType): Unit = stored match {
    case user: StoredRule.UserMerger if user.isAssociative =>
      val schema = StructType(columns :+ MetaColumns.schema(MetaColumns.RecordKey))
      val rule   = ofLayout(stored, config, schema).copy(fixed = fixed(stored, config))
      RuleCheck(rule, cases = CasesOfWrite, laws = Seq(RuleLaw.Associative)).flatMap(_.counterexample).foreach {
        found =>
          throw MerganserException("MERGER_NOT_ASSOCIATIVE", "table" -> config.name, "class" -> user.source.className,
            "versions" -> found)
      }
    case _ => ()
  }

  /**
   * @param columns the user's columns
   * @param own     rows of these columns, whose values half of the versions have
   * @param cases   how many are tried for each law
   * @param seed    of the random cases: the same seed tries the same cases
   */
  def check(
      stored: StoredRule,
      config: TableConfig,
      columns: StructType,
      own: Seq[InternalRow],
      cases: Int,
      seed: Long
  ): Seq[LawResult] = {
    val schema = StructType(columns :+ MetaColumns.schema(MetaColumns.RecordKey))
    val rule   = ofLayout(stored, config, schema)
    val narrow = columns.map { column =>
      val needed = CompiledRule.layoutSchema(StructType(Seq(column)), schema, config, stored)
      column.name -> ofLayout(stored, config, needed)
    }
    val rows = own.map(row => new GenericInternalRow((row.toSeq(columns) :+ null).toArray[Any]))
    val known = rule.copy(fixed = fixed(stored, config), sums = sums(stored, columns), clocks = clocks(stored),
      narrow = narrow)
    RuleCheck(known, rows, markers(stored), cases, seed)
  }

  /** The versions that are merged with each other have one key and one partition. */
  private def fixed(stored: StoredRule, config: TableConfig): Set[String] =
    (config.recordKeyFields ++ config.partitionFields).toSet -- stored.orderingFields

  private def sums(stored: StoredRule, columns: StructType): Set[String] = stored match {
    case declared: StoredRule.Declared if declared.rule.retract.isDefined =>
      declared.rule.sums(columns.fieldNames.toSeq).toSet -- declared.fixed
    case _ => Set.empty
  }

  private def clocks(stored: StoredRule): Set[String] = stored match {
    case declared: StoredRule.Declared => declared.rule.groups.flatMap(_.ordering).toSet
    case _                             => Set.empty
  }

  private def ofLayout(stored: StoredRule, config: TableConfig, schema: StructType): RuleOfLayout = {
    val compiled = CompiledRule(stored, config, schema)
    RuleOfLayout(compiled.layout, compiled.fold("none"), compiled.laws)
  }

  /** Placeholders of values that a source did not send. */
  private def markers(stored: StoredRule): Seq[String] = stored match {
    case StoredRule.ByMode(_, _, Some(MissingValues.Marked(value))) => Seq(value)
    case _: StoredRule.ByPayload                                    => Seq(Debezium.Unavailable)
    case _                                                          => Nil
  }
}
