package io.merganser.spark.write

import io.merganser.table.base.MetaColumns
import io.merganser.table.config.TableConfig
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression, If, Literal}
import org.apache.spark.sql.functions.{coalesce, col, lit, monotonically_increasing_id}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/**
 * A source whose rows name the keys they change.
 *
 * @param columns of the source's rows
 * @param keys    for each key column its name and ordinal in the source's rows
 * @param paths   the same for the partition columns; empty where keys are looked for in all partitions
 * @param table   the table's data columns
 * @param stored  columns wanted of the stored rows
 */
final case class KeyedSource(
    columns: StructType, keys: Seq[(String, Int)], paths: Seq[(String, Int)], table: StructType, isPartitioned: Boolean, stored: StructType
) {

  /** A table without partitions has all of its keys in one. */
  val byPath: Boolean = !isPartitioned || paths.nonEmpty

  /** What [[rows]] adds behind arrival. */
  val added: StructType =
    StructType(Seq(MetaColumns.RecordKey) ++ (if (byPath) Seq(MetaColumns.PartitionPath) else Nil) map (MetaColumns.schema(_)))

  /** The source's columns, then arrival, record key and, by path, partition path. */
  def rows(session: SparkSession, source: RDD[InternalRow], config: TableConfig): DataFrame = {
    val named = StructType(columns.zipWithIndex.map { case (field, i) => field.copy(name = KeyedSource.column(i)) })
    val frame = SparkBridge.internalCreateDataFrame(session, source, named)
    def as(parts: Seq[(String, Int)]): Seq[Column] = parts.map { case (name, at) => col(KeyedSource.column(at)).as(name) }
    val own                                        = named.fieldNames.map(col).toSeq
    val identity = frame.select(own ++ Seq(monotonically_increasing_id().as(IncomingSchema.Arrival)) ++
        as(keys) ++ as(paths.filterNot(p => keys.exists(_._1 == p._1))): _*)
    val key  = coalesce(KeyColumns.recordKey(config, table), lit(KeyedSource.NoKey)).as(MetaColumns.RecordKey)
    val path = if (byPath) Seq(KeyColumns.partitionPath(config, table).as(MetaColumns.PartitionPath)) else Nil
    identity.select(own ++ Seq(col(IncomingSchema.Arrival), key) ++ path: _*)
  }
}

object KeyedSource {

  private def column(at: Int): String = s"__merganser_source_$at"

  /** Stands for the key of a row that has none: such a row equals no stored one. */
  private val NoKey     = "\u0000merganser: no key\u0000"
  private val NoKeyText = UTF8String.fromString(NoKey)

  def isNoKey(key: UTF8String): Boolean = key == NoKeyText

  /** The place of a row that has no key, else null: such rows have it in common that they are versions of nothing. */
  def apart(key: Expression, arrival: Expression): Expression = If(EqualTo(key, Literal(NoKey)), arrival, Literal(null, arrival.dataType))
}
