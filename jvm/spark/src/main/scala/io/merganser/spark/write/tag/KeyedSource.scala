package io.merganser.spark.write.tag

import io.merganser.spark.write.key.{KeyColumns, NestedColumns}
import io.merganser.spark.write.prepare.WriteRow
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{EqualTo, Expression, If, Literal}
import org.apache.spark.sql.functions.{coalesce, col, lit, monotonically_increasing_id}
import org.apache.spark.sql.merganser.SparkBridge
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A source whose rows have the keys they change, and the columns of its rows in a lookup: the source's, the values of
 * key and partition columns, arrival, record key, the partition path if `byPath`, then what the lookup adds.
 *
 * @param source columns of the source
 * @param keys   names of the key columns (`a.b` for a field of a struct), and the types of the source's values for them
 * @param paths  the same for the partition columns; empty where keys are looked up in all partitions
 * @param table  the table's data columns
 * @param stored requested columns of the stored rows
 */
final case class KeyedSource(
    source: StructType,
    keys: Seq[(String, DataType)],
    paths: Seq[(String, DataType)],
    table: StructType,
    isPartitioned: Boolean,
    stored: StructType
) {

  /** Input columns of a lookup: the source's columns, then the values for key and partition columns. */
  private val columns = StructType(source ++ (keys ++ paths).map { case (_, dataType) =>
    StructField("value", dataType)
  })

  /** Ordinal of a source row's position in the source. */
  def arrivalOrdinal: Int = columns.length

  def keyOrdinal: Int = arrivalOrdinal + 1

  /** None if the source's rows have no partition path. */
  def pathOrdinal: Option[Int] = if (paths.isEmpty) None else Some(keyOrdinal + 1)

  /** Ordinal of the number of the file slice, the first column that the lookup adds. */
  def sliceOrdinal: Int = arrivalOrdinal + 1 + added.length

  /** True too for a table without partitions: all of its keys have the same path. */
  val byPath: Boolean = !isPartitioned || paths.nonEmpty

  /** Columns that [[rows]] adds after arrival. */
  val added: StructType =
    StructType(
      Seq(MetaColumns.RecordKey) ++ (if (byPath) Seq(MetaColumns.PartitionPath) else Nil) map (MetaColumns.schema(_)))

  /**
   * The input rows of a lookup, up to the partition path.
   *
   * @param source rows with the values for key and partition columns after the source's columns
   */
  def rows(session: SparkSession, source: RDD[InternalRow], config: TableConfig): DataFrame = {
    val named = StructType(columns.zipWithIndex.map { case (field, i) => field.copy(name = KeyedSource.column(i)) })
    val frame = SparkBridge.internalCreateDataFrame(session, source, named)
    val own   = named.fieldNames.map(col).toSeq
    val pairs = (keys ++ paths).map(_._1).zipWithIndex.map { case (name, i) =>
      name -> col(KeyedSource.column(this.source.length + i))
    }
    // A partition column may be a key column too.
    val distinct = pairs.groupBy(_._1).values.map(_.head).toSeq
    val identity = frame.select(own ++ Seq(monotonically_increasing_id().as(WriteRow.Arrival.name)) ++
        NestedColumns.of(distinct): _*)
    val key  = coalesce(KeyColumns.recordKey(config, table), lit(KeyedSource.NoKey)).as(MetaColumns.RecordKey)
    val path = if (byPath) Seq(KeyColumns.partitionPath(config, table).as(MetaColumns.PartitionPath)) else Nil
    identity.select(own ++ Seq(col(WriteRow.Arrival.name), key) ++ path: _*)
  }
}

object KeyedSource {

  private def column(at: Int): String = s"__merganser_source_$at"

  /** Placeholder for the key of a row that has none: it equals no stored key. */
  private val NoKey     = "\u0000merganser: no key\u0000"
  private val NoKeyText = UTF8String.fromString(NoKey)

  def isNoKey(key: UTF8String): Boolean = key == NoKeyText

  /** The arrival of a row that has no key, else null: rows without a key are not versions of each other. */
  def apart(key: Expression, arrival: Expression): Expression =
    If(EqualTo(key, Literal(NoKey)), arrival, Literal(null, arrival.dataType))
}
