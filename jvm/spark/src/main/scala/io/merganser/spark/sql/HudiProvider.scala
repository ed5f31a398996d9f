package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import org.apache.spark.sql.catalyst.plans.logical.{
  CreateTable,
  CreateTableAsSelect,
  LogicalPlan,
  ReplaceTable,
  ReplaceTableAsSelect
}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf

import scala.util.Try

/** `USING hudi` in a session without Hudi's jar, where Spark's own error names no format to write instead. */
private[sql] object HudiProvider {
  private val Name = "hudi"

  /**
   * @return the plan
   * @throws MerganserException HUDI_NOT_LOADED
   */
  def refused(plan: LogicalPlan): LogicalPlan = {
    providerOf(plan).filter(provider => provider.equalsIgnoreCase(Name) && !isLoaded).foreach(provider =>
      throw MerganserException("HUDI_NOT_LOADED", "provider" -> provider))
    plan
  }

  private def providerOf(plan: LogicalPlan): Option[String] = plan match {
    case statement: CreateTable          => statement.tableSpec.provider
    case statement: CreateTableAsSelect  => statement.tableSpec.provider
    case statement: ReplaceTable         => statement.tableSpec.provider
    case statement: ReplaceTableAsSelect => statement.tableSpec.provider
    case _                               => None
  }

  private def isLoaded: Boolean = Try(DataSource.lookupDataSource(Name, SQLConf.get)).isSuccess
}
