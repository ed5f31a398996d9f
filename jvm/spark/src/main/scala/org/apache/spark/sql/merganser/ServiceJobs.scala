package org.apache.spark.sql.merganser

import java.util.Properties

import org.apache.spark.SparkContext

/** Spark jobs of services, inside a statement or in a thread that a statement has started. */
object ServiceJobs {

  private val Description = "spark.job.description"

  /** Describes the jobs of this thread in Spark's UI, unless the user has described them. */
  def describe[T](context: SparkContext, description: String)(work: => T): T =
    if (context.getLocalProperty(Description) != null) work
    else {
      context.setLocalProperty(Description, description)
      try work
      finally context.setLocalProperty(Description, null)
    }

  /**
   * Runs work in a thread of its own: none of the properties of the statement that started it applies to its jobs.
   *
   * @param group       by which they are cancelled
   * @param pool        of Spark's fair scheduler; without effect where that is not configured
   * @param description of the jobs, in Spark's UI
   */
  def run[T](context: SparkContext, group: String, pool: Option[String], description: String)(work: => T): T = {
    context.setLocalProperties(new Properties())
    pool.foreach(context.setLocalProperty("spark.scheduler.pool", _))
    context.setJobGroup(group, description)
    work
  }
}
