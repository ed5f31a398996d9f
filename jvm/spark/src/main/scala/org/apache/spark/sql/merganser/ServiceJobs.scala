package org.apache.spark.sql.merganser

import java.util.Properties

import org.apache.spark.SparkContext

/** Spark jobs of a thread that a statement has started: none of the statement's properties applies to them. */
object ServiceJobs {

  /**
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
