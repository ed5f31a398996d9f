package io.merganser.spark.stream

import org.apache.spark.sql.execution.SparkPlan

/** The plan of a micro-batch that keeps state: Spark's state stores have the next version only when it has run. */
private[stream] object StatefulPlan {

  /** Computes a micro-batch for its state alone, if it has any. */
  def run(plan: SparkPlan): Unit = if (isStateful(plan)) plan.execute().foreach(_ => ())

  // The trait has another package from Spark 4.1 on.
  private def isStateful(plan: SparkPlan): Boolean =
    plan.collectFirst { case node if namesOf(node.getClass).exists(_.endsWith(".StatefulOperator")) => node }.isDefined

  private def namesOf(of: Class[_]): Set[String] =
    (Iterator.iterate[Class[_]](of)(_.getSuperclass).takeWhile(_ != null).flatMap(_.getInterfaces).flatMap(i =>
      i.getName +: namesOf(i).toSeq)).toSet
}
