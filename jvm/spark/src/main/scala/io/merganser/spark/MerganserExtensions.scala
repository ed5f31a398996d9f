package io.merganser.spark

import io.merganser.spark.sql.{
  CallParser,
  ColumnRetyping,
  CreateTableLikes,
  RowLevelCommandStrategy,
  DescribeStrategy,
  StarExpansion,
  FrameWriteDetection,
  DeferredStatements,
  InsertMatching,
  InsertStrategy,
  MergedRows,
  MergedRowsStrategy,
  MetaColumnsOfViews,
  PartitionOverwrites,
  RequiredValue,
  StatementLine,
  TableChanges
}
import org.apache.spark.sql.SparkSessionExtensions

/**
 * The class for `spark.sql.extensions`: CALL, MERGE, UPDATE and DELETE on every Spark line, and writes of data frames
 * by name; the functions `hudi_table_changes`, `merganser_combine` and `merganser_merge`.
 */
class MerganserExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    // Parser extensions
    val catalogs = Set(classOf[MerganserCatalog].getName, classOf[MerganserLakeCatalog].getName)
    extensions.injectParser((session, parser) => new CallParser(session, parser, catalogs))

    // Functions
    extensions.injectTableFunction(TableChanges.function)
    extensions.injectTableFunction(MergedRows.combine)
    extensions.injectTableFunction(MergedRows.merge)

    // Analyzer extensions. The order matters: commands are deferred before their stars are expanded, and released last.
    extensions.injectResolutionRule(_ => FrameWriteDetection)
    extensions.injectResolutionRule(_ => ColumnRetyping)
    extensions.injectResolutionRule(CreateTableLikes(_))
    extensions.injectResolutionRule(MergedRows.Resolve(_))
    extensions.injectResolutionRule(_ => MetaColumnsOfViews)
    extensions.injectPostHocResolutionRule(_ => MetaColumnsOfViews.Restore)
    extensions.injectPostHocResolutionRule(_ => TableChanges.Unresolved)
    extensions.injectResolutionRule(InsertMatching(_))
    extensions.injectResolutionRule(PartitionOverwrites(_))
    extensions.injectResolutionRule(_ => RequiredValue.OfInserts)
    StatementLine.inject(extensions)
    extensions.injectResolutionRule(DeferredStatements.Decide(_))
    extensions.injectResolutionRule(StarExpansion.Expand(_))
    extensions.injectResolutionRule(DeferredStatements.Release(_))

    // Optimizer extensions: none

    // Planner extensions
    extensions.injectPlannerStrategy(RowLevelCommandStrategy(_))
    extensions.injectPlannerStrategy(InsertStrategy(_))
    extensions.injectPlannerStrategy(_ => DescribeStrategy)
    extensions.injectPlannerStrategy(_ => MergedRowsStrategy)
  }
}
