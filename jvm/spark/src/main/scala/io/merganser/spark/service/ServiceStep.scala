package io.merganser.spark.service

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.storage.Progress
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.ServiceJobs

/** A step of a service that runs Spark jobs: it is shown as progress, and describes the jobs in Spark's UI. */
private[service] object ServiceStep {

  /** @param what the step, such as "clustering 20260131120000000" */
  def apply[T](session: SparkSession, table: OpenTable, what: String)(work: => T): T =
    Progress.of(what)(_ => ServiceJobs.describe(session.sparkContext, s"$what of ${table.config.name}")(work))
}
