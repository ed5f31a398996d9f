package io.merganser.table.settings

import io.merganser.table.options.Names.lower
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.RuleInference

/**
 * Settings of a new table like an existing one: the explicit ones of a statement, and those of the existing table that
 * they do not replace.
 */
object LikeSettings {

  /** How versions of a row merge; one of these options replaces all. */
  private val Rule: Set[OptionEntry] = Set(Options.MergeModeOption, Options.StoredMergeMode, Options.StrategyIdOption,
    Options.PayloadClass, Options.RuleDefault, Options.RuleDelete, Options.RuleRetractColumn, Options.RuleRetractValues,
    Options.RuleText)

  private val Generator: Set[OptionEntry] = Set(Options.KeyGeneratorType, Options.KeyGeneratorClass)

  private val Buckets: Set[OptionEntry] =
    Set(Options.BucketCount, Options.BucketHashFields, Options.BucketEngine, Options.BucketExpressions)

  /**
   * The new table's settings, as TBLPROPERTIES of a CREATE TABLE that repeats the columns and, unless
   * [[setsPartitions]], the partitioning of the existing table.
   *
   * @param explicit settings of the statement, by any of their names
   * @param like     the existing table
   */
  def of(explicit: Map[String, String], like: TableConfig): Map[String, String] = {
    val named    = explicit.keySet.flatMap(ShownSettings.optionOf(_))
    val setsRule = this.setsRule(explicit, named, like)
    val replaced = named ++
      (if (setsRule) Rule else Nil) ++
      (if (named(Options.PayloadClass)) Seq(Options.DeleteField, Options.DeleteMarker) else Nil) ++
      (if (named.exists(Generator)) Generator else Nil) ++
      (if (setsOtherIndex(explicit, like)) Buckets else Nil) ++
      (if (named(Options.RecordKey) && hashesKey(like)) Seq(Options.BucketHashFields) else Nil) +
      Options.HiveSyncTable // the existing table's name in a metastore
    ShownSettings.of(like).filterNot { case (key, _) =>
      explicit.contains(key) || explicit.contains(Options.MergePropertyPrefix + key) ||
      ShownSettings.optionOf(key).exists(replaced) || (setsRule && key == ShownSettings.PartialUpdateMode)
    } ++ explicit
  }

  /** Whether a statement's settings name the partition columns. */
  def setsPartitions(explicit: Map[String, String]): Boolean =
    explicit.keys.exists(ShownSettings.optionOf(_).contains(Options.PartitionFields))

  /** Ordering fields imply a merge mode again where those of the existing table did. */
  private def setsRule(explicit: Map[String, String], named: Set[OptionEntry], like: TableConfig): Boolean =
    named.exists(Rule) || (named(Options.OrderingFields) && isImplied(like)) || explicit.keys.map(lower).exists(key =>
      key.startsWith(Options.RuleColumnPrefix) || key.startsWith(Options.RuleGroupPrefix))

  private def isImplied(like: TableConfig): Boolean = like.legacyPayloadClass.isEmpty &&
    RuleInference.infer(like.version, None, None, None, like.orderingFields, Map.empty).properties.forall {
      case (key, value) => like.properties.get(key).contains(value)
    }

  private def setsOtherIndex(explicit: Map[String, String], like: TableConfig): Boolean = explicit.exists {
    case (key, value) =>
      ShownSettings.optionOf(key).contains(Options.IndexTypeOption) &&
      !like.properties.get(Options.IndexTypeOption.key).exists(_.equalsIgnoreCase(value.trim))
  }

  private def hashesKey(like: TableConfig): Boolean =
    like.properties.get(Options.BucketHashFields.key).contains(like.recordKeyFields.mkString(","))
}
