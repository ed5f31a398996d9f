package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The part of a parser that statements with parameters go through: none, on this line. */
trait ParameterParser extends ParserInterface {
  protected def inner: ParserInterface

  /** None if the text is none of its own statements. */
  protected def own(text: String): Option[LogicalPlan]
}
