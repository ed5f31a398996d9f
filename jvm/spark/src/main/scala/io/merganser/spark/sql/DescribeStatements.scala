package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{DescribeRelation, LogicalPlan, ShowColumns}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

/** SHOW COLUMNS and DESCRIBE TABLE … PARTITION, which older Spark lines support for their own tables only. */
object DescribeStrategy extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ShowColumns(ResolvedTable(_, _, ours: MerganserTable, _), None, output) =>
      Seq(DescribeExec(output, () => ours.schema().fieldNames.toSeq.map(Seq(_))))
    case describe: DescribeRelation =>
      // Spark 4.2 has a separate plan for partitions, and no partition specification in this one.
      (describe.relation, describe.productElement(1)) match {
        case (ResolvedTable(_, _, ours: MerganserTable, _), spec: Map[String @unchecked, String @unchecked])
            if spec.nonEmpty =>
          Seq(DescribeExec(describe.output, () => partition(ours, spec, describe.isExtended)))
        case _ => Nil
      }
    case _ => Nil
  }

  private def partition(table: MerganserTable, spec: Map[String, String], isExtended: Boolean): Seq[Seq[String]] = {
    val columns = table.partitionSchema()
    def missing =
      MerganserException("PARTITIONS_NOT_FOUND", "table" -> table.name(),
        "partition" -> spec.map { case (k, v) => s"$k=$v" }.mkString("/"))
    val ident = InternalRow.fromSeq(columns.map { column =>
      val text = spec.collectFirst { case (name, value) if name.equalsIgnoreCase(column.name) => value }.getOrElse(
        throw missing)
      Cast(Literal.create(text, StringType), column.dataType, Some("UTC")).eval()
    })
    if (spec.size != columns.length || !table.partitionExists(ident)) throw missing
    val rows = table.schema().map(field => Seq(field.name, field.dataType.simpleString, field.getComment().orNull))
    val details =
      if (!isExtended) Nil
      else
        Seq(Seq("", "", ""), Seq("# Detailed Partition Information", "", ""),
          Seq("Partition Values", columns.fieldNames.map(c => s"$c=${spec(c)}").mkString("[", ", ", "]"), "")) ++
          table.loadPartitionMetadata(ident).asScala.toSeq.sorted.map { case (key, value) => Seq(key, value, "") }
    rows ++ details
  }
}

/** Rows of strings, computed when the statement runs. */
final case class DescribeExec(output: Seq[Attribute], rows: () => Seq[Seq[String]]) extends V2CommandExec
    with LeafExecNode {
  override protected def run(): Seq[InternalRow] =
    rows().map(texts => InternalRow.fromSeq(texts.map(text => UTF8String.fromString(text))))
}
