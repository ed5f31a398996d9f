package io.merganser.spark.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * Plans a MERGE as a lookup of its source's keys where ON equates the record key, else as a join.
 *
 * Either way the clauses are one function of the stored row and the source row, and the write merges its output rows by
 * the table's rule.
 */
private[sql] object MergePlan {

  def of(session: SparkSession, relation: DataSourceV2Relation, statement: MergeIntoTable): LogicalPlan = {
    val merge = new MergeStatement(session, relation, statement)
    merge.requireSupported()
    // The partition in ON need not be the one that a row is inserted into.
    val keyed = merge.onKey.flatMap(k => Seq(k, k.copy(paths = Nil, isAll = false)).find(isKeyed(merge, _)))
    keyed.fold(new MergeByJoin(merge).plan)(new MergeByKey(merge, _).plan)
  }

  /** An unmatched row is inserted where its key was looked up, so its key must be the one in ON. */
  private def isKeyed(merge: MergeStatement, keyed: KeyCondition): Boolean =
    !merge.needsSparkPlan && !merge.has(MergeStatement.BySource) && merge.insertsUnderKey(keyed)
}
