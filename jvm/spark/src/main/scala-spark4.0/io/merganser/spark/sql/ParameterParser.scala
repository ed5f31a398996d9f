package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Parses statements with parameters: this line has no separate method for them. */
trait ParameterParser extends ParserInterface {
  protected def inner: ParserInterface

  /** None if the text is not one of its own statements. */
  protected def own(text: String): Option[LogicalPlan]
}
