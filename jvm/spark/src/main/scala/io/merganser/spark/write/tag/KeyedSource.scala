package io.merganser.spark.write.tag

import io.merganser.spark.write.key.{KeyColumns, NestedColumns}
import io.merganser.spark.write.prepare.{WriteColumn, WriteRow}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.MetaColumns
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Column, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, EqualTo, Expression, If, Literal}
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
    config: TableConfig,
    stored: StructType
) {

  /** True too for a table without partitions: all of its keys have the same path. */
  val byPath: Boolean = config.partitionFields.isEmpty || paths.nonEmpty

  /** The input columns: the source's, and the values for key and partition columns. */
  private val own = StructType((source ++ (keys ++ paths).map { case (name, dataType) => StructField(name, dataType) })
      .zipWithIndex.map { case (field, i) => field.copy(name = KeyedSource.column(i)) })

  /** The columns of a row, up to the partition path, with functions that make what fills them. */
  private val row: WriteRow[() => Column] = WriteRow(own.map(f => WriteColumn(f, () => col(f.name))) ++ Seq(
    WriteColumn(WriteRow.Arrival, () => col(WriteRow.Arrival.name)),
    WriteColumn(MetaColumns.schema(MetaColumns.RecordKey),
      () => coalesce(KeyColumns.recordKey(config, table), lit(KeyedSource.NoKey))),
    WriteColumn(MetaColumns.schema(MetaColumns.PartitionPath), () => KeyColumns.partitionPath(config, table), byPath)
  ))

  private val schema = row.schema

  /** Ordinal of a source row's position in the source. */
  val arrivalOrdinal: Int = WriteRow.ordinal(schema, WriteRow.Arrival.name)

  val keyOrdinal: Int = WriteRow.ordinal(schema, MetaColumns.RecordKey)

  /** None if the source's rows have no partition path. */
  val pathOrdinal: Option[Int] =
    if (paths.isEmpty) None else Some(WriteRow.ordinal(schema, MetaColumns.PartitionPath))

  /** Ordinal of the number of the file slice, the first column that the lookup adds. */
  val sliceOrdinal: Int = schema.length

  /** Attributes of a row. */
  def attributes(source: Seq[Attribute], arrival: Attribute): Seq[Attribute] =
    schema.zipWithIndex.map { case (field, i) =>
      if (i < source.length) source(i)
      else if (i == arrivalOrdinal) arrival
      else AttributeReference(field.name, field.dataType)()
    }

  /**
   * The input rows of a lookup, up to the partition path.
   *
   * @param source rows with the values for key and partition columns after the source's columns
   */
  def rows(session: SparkSession, source: RDD[InternalRow]): DataFrame = {
    val frame = SparkBridge.internalCreateDataFrame(session, source, own)
    val pairs = (keys ++ paths).map(_._1).zip(own.fieldNames.drop(this.source.length).map(col))
    // A partition column may be a key column too.
    val distinct = pairs.groupBy(_._1).values.map(_.head).toSeq
    frame.select(own.fieldNames.map(col).toSeq ++ Seq(monotonically_increasing_id().as(WriteRow.Arrival.name)) ++
        NestedColumns.of(distinct): _*).select(WriteRow.select(row.map(_())): _*)
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
