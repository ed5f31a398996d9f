package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * A MERGE as a lookup of its source's keys, where ON equates the record key; else as a join.
 *
 * Either way the clauses are one function of the stored row and the source row, and the rows that it makes go through the table's
 * rule in the write.
 */
private[sql] object MergePlan {

  def of(session: SparkSession, relation: DataSourceV2Relation, given: MergeIntoTable): LogicalPlan = {
    val merge = new MergeStatement(session, relation, given)
    merge.requireSupported()
    // A partition that ON names need not be the one that a row is inserted into.
    val keyed = merge.onKey.flatMap(k => Seq(k, k.copy(paths = Nil, isAll = false)).find(isKeyed(merge, _)))
    keyed.fold(new MergeByJoin(merge).plan)(new MergeByKey(merge, _).plan)
  }

  /** A row that no stored one matches goes where its key was looked up, so its key must be the one that ON names. */
  private def isKeyed(merge: MergeStatement, keyed: KeyCondition): Boolean =
    !merge.isPlanned && !merge.has(MergeStatement.BySource) && merge.insertsThere(keyed)
}
