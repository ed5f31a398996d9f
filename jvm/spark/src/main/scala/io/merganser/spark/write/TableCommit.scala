package io.merganser.spark.write

import io.merganser.merge.buffer.MergeCounts
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.timeline.{CommitMetadata, OperationType, WriteStat}
import org.apache.spark.sql.types.StructType

/** What all commits of writes and services have. */
object TableCommit {

  val CountsKey = "merganser.counts"

  /**
   * @param columns  of the rows written
   * @param counts   None: the commit has none
   * @param replaced partition path to the file groups that it removes
   * @param extra    further entries of its extra metadata
   */
  def metadata(
      operation: OperationType,
      table: OpenTable,
      columns: StructType,
      written: Seq[WriteStat],
      counts: Option[MergeCounts],
      replaced: Map[String, Seq[String]] = Map.empty,
      extra: Map[String, String] = Map.empty
  ): CommitMetadata =
    CommitMetadata(
      operation,
      written.groupBy(_.partitionPath),
      Map("schema" -> AvroSchemas.toAvro(table.forCommit(columns), table.config.name).toString,
        CommitMetadata.WriterKey -> "merganser") ++ counts.map(CountsKey -> Counts.toJson(_)) ++ extra,
      replaced
    )
}
