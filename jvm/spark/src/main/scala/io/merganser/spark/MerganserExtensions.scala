package io.merganser.spark

import io.merganser.spark.sql.{
  CallParser,
  ChangeStrategy,
  DescribeStrategy,
  EvolvingStars,
  FrameAppends,
  HeldStatements,
  InsertStrategy,
  PartitionOverwrites,
  StatementLine
}
import org.apache.spark.sql.SparkSessionExtensions

/** What `spark.sql.extensions` names: CALL on every Spark line, appends of data frames, and MERGE, UPDATE and DELETE. */
class MerganserExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((session, parser) => new CallParser(session, parser))
    extensions.injectResolutionRule(_ => FrameAppends)
    extensions.injectResolutionRule(PartitionOverwrites(_))
    StatementLine.inject(extensions)
    extensions.injectResolutionRule(HeldStatements.Decide(_))
    extensions.injectResolutionRule(EvolvingStars.Expand(_))
    extensions.injectResolutionRule(HeldStatements.Release(_))
    extensions.injectPlannerStrategy(ChangeStrategy(_))
    extensions.injectPlannerStrategy(InsertStrategy(_))
    extensions.injectPlannerStrategy(_ => DescribeStrategy)
  }
}
