package io.merganser.spark.sql.procedures

import io.merganser.spark.service.{PreviewedStep, ServiceScope}

/**
 * What a procedure would do now. Nothing is changed.
 *
 * @param service    name in dry runs
 * @param parameters those of `dry_run_service` that it takes besides the table, the settings and the filter
 * @param steps      by the arguments of `dry_run_service`; throws what the procedure throws before it changes anything
 */
final class Preview private (
    val service: String,
    val parameters: Seq[String],
    val steps: (ServiceScope, Arguments) => Seq[PreviewedStep]
)

object Preview {

  /** Rows to show, unless a number is given. */
  val Rows = 20

  def apply(service: String, parameters: String*)(steps: (ServiceScope, Arguments) => Seq[PreviewedStep]): Preview =
    new Preview(service, parameters, steps)

  def rows(arguments: Arguments): Int = arguments.int("rows").getOrElse(Rows)
}
