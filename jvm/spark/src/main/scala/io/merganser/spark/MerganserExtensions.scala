package io.merganser.spark

import io.merganser.spark.sql.{CallParser, FrameAppends, MergeStatements, RowChangeStrategy}
import org.apache.spark.sql.SparkSessionExtensions

/** What `spark.sql.extensions` names: CALL on every Spark line, appends of data frames, versions in a MERGE, and the write of MERGE, UPDATE and DELETE. */
class MerganserExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((session, parser) => new CallParser(session, parser))
    extensions.injectResolutionRule(_ => FrameAppends)
    // Spark rewrites MERGE before our resolution rules on some lines, and after them on others.
    extensions.injectResolutionRule(_ => MergeStatements)
    extensions.injectOptimizerRule(_ => MergeStatements)
    extensions.injectPlannerStrategy(session => RowChangeStrategy(session))
  }
}
