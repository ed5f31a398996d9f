package io.merganser.spark

import io.merganser.spark.sql.{CallParser, ChangeStatements, ChangeStrategy, FrameAppends}
import org.apache.spark.sql.SparkSessionExtensions

/** What `spark.sql.extensions` names: CALL on every Spark line, appends of data frames, and MERGE, UPDATE and DELETE. */
class MerganserExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser((_, parser) => new CallParser(parser))
    extensions.injectResolutionRule(_ => FrameAppends)
    extensions.injectPostHocResolutionRule(ChangeStatements(_))
    extensions.injectPlannerStrategy(ChangeStrategy(_))
  }
}
