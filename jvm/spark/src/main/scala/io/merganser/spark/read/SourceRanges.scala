package io.merganser.spark.read

import io.merganser.spark.OpenTable
import io.merganser.spark.write.KeyRanges
import io.merganser.table.base.{BaseFileFooter, MetaColumns}
import io.merganser.table.slice.FileSlice
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.JavaConverters._

/**
 * Where the values lie that a row must have to be found: ranges of the values that a statement's source has, gathered by
 * its tasks. A file whose statistics meet none of them holds no row that matters.
 *
 * @param byColumn ranges of each column's values, as [[SourceRanges.text]] orders them
 */
final class SourceRanges(val byColumn: Map[String, KeyRanges]) extends Serializable {

  def ++(other: Option[SourceRanges]): SourceRanges = other.fold(this)(o => new SourceRanges(byColumn ++ o.byColumn))

  /** The slices that may hold such a row. */
  def prune(session: SparkSession, table: OpenTable, slices: Seq[FileSlice]): Seq[FileSlice] = {
    val paths = PartitionPruning(table)
    val types = table.schema
    val here = slices.map(_.partitionPath).distinct.filter(path =>
      paths.values(path).forall(_.forall { case (column, value) =>
        byColumn.get(column).forall { ranges =>
          val text = SourceRanges.textOfExternal(value, types(column).dataType)
          text.isEmpty || ranges.meets(text, text)
        }
      })).toSet
    val kept          = slices.filter(s => here(s.partitionPath))
    val (asked, rest) = kept.partition(s => s.logs.isEmpty && s.base.isDefined)
    val ofFile        = byColumn.filter { case (column, _) => types.fieldNames.contains(column) || column == MetaColumns.RecordKey }
    if (ofFile.isEmpty || asked.isEmpty) kept
    else {
      val shared  = session.sparkContext.broadcast(ofFile)
      val storage = table.storage
      val found = session.sparkContext
        .parallelize(asked, math.min(asked.size, math.max(1, session.sparkContext.defaultParallelism)))
        .filter(slice =>
          SourceRanges.mayHold(BaseFileFooter.read(storage.conf, storage.path(slice.base.get.path), slice.base.get.sizeBytes),
            types, shared.value))
        .collect().toSeq
      found ++ rest
    }
  }
}

object SourceRanges {

  /** Whether values of the type have an order that files keep statistics of. */
  def isKnown(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | StringType => true
    case _                                                                                     => false
  }

  /**
   * @param rows    the source
   * @param columns names of the target's columns, with the ordinal and type of what the source has for them
   */
  def of(rows: RDD[InternalRow], columns: Seq[(String, Int, DataType)]): SourceRanges = {
    val parts = rows.mapPartitions { it =>
      val builders = columns.map(_ => new KeyRanges.Builder)
      it.foreach { row =>
        columns.zip(builders).foreach { case ((_, at, dataType), builder) =>
          // A null equals nothing.
          if (!row.isNullAt(at)) builder.add(text(row, at, dataType))
        }
      }
      Iterator(builders.map(_.result()))
    }
    val none = columns.map(_ => (new KeyRanges.Builder).result())
    val ranges =
      parts.treeAggregate(none)((a, b) => a.zip(b).map { case (x, y) => x ++ y }, (a, b) => a.zip(b).map { case (x, y) => x ++ y })
    // One column may be equated several times: each of them must hold.
    new SourceRanges(columns.map(_._1).zip(ranges).groupBy(_._1).map { case (name, several) => name -> several.head._2 })
  }

  /** The value as text that is ordered as the values are. */
  private def text(row: InternalRow, at: Int, dataType: DataType): UTF8String = dataType match {
    case StringType               => row.getUTF8String(at)
    case LongType | TimestampType => UTF8String.fromString(number(row.getLong(at)))
    case IntegerType | DateType   => UTF8String.fromString(number(row.getInt(at).toLong))
    case ShortType                => UTF8String.fromString(number(row.getShort(at).toLong))
    case ByteType                 => UTF8String.fromString(number(row.getByte(at).toLong))
    case other                    => throw new IllegalStateException(s"no ranges of $other")
  }

  private def number(value: Long): String = String.format("%016x", Long.box(value ^ Long.MinValue))

  /** None where the value is of another kind than the column's type: then nothing is ruled out. */
  private def textOfExternal(value: Any, dataType: DataType): Option[String] = (value, dataType) match {
    case (s: String, StringType)                                              => Some(s)
    case (d: java.sql.Date, DateType)                                         => Some(number(d.toLocalDate.toEpochDay))
    case (d: java.time.LocalDate, DateType)                                   => Some(number(d.toEpochDay))
    case (n: java.lang.Number, ByteType | ShortType | IntegerType | LongType) => Some(number(n.longValue))
    case _                                                                    => None
  }

  private def mayHold(footer: BaseFileFooter, types: StructType, byColumn: Map[String, KeyRanges]): Boolean =
    byColumn.get(MetaColumns.RecordKey).forall(_.meets(footer.minKey, footer.maxKey)) && footer.metadata.getBlocks.asScala.exists { block =>
      (byColumn - MetaColumns.RecordKey).forall { case (column, ranges) =>
        block.getColumns.asScala.find(_.getPath.toDotString == column)
          .forall(chunk =>
            !isOfType(chunk.getPrimitiveType, types(column).dataType) ||
              meets(chunk.getStatistics, types(column).dataType, ranges))
      }
    }

  /** A file from before a column was widened may have statistics of another kind. */
  private def isOfType(stored: PrimitiveType, dataType: DataType): Boolean = (stored.getLogicalTypeAnnotation, dataType) match {
    case (_: LogicalTypeAnnotation.StringLogicalTypeAnnotation, StringType)                                 => true
    case (_: LogicalTypeAnnotation.DateLogicalTypeAnnotation, DateType)                                     => true
    case (_: LogicalTypeAnnotation.IntLogicalTypeAnnotation, ByteType | ShortType | IntegerType | LongType) => true
    case (null, ByteType | ShortType | IntegerType | LongType)                                              => true
    case _                                                                                                  => false
  }

  private def meets(statistics: Statistics[_], dataType: DataType, ranges: KeyRanges): Boolean =
    if (statistics == null || statistics.isEmpty || !statistics.hasNonNullValue) true
    else {
      val min = stored(statistics.genericGetMin, dataType)
      val max = stored(statistics.genericGetMax, dataType)
      min.isEmpty || max.isEmpty || ranges.meets(min, max)
    }

  private def stored(value: Any, dataType: DataType): Option[String] = (value, dataType) match {
    case (b: org.apache.parquet.io.api.Binary, StringType)                     => Some(b.toStringUsingUTF8)
    case (n: java.lang.Integer, ByteType | ShortType | IntegerType | DateType) => Some(number(n.longValue))
    case (n: java.lang.Integer, LongType)                                      => Some(number(n.longValue))
    case (n: java.lang.Long, LongType)                                         => Some(number(n.longValue))
    case _                                                                     => None
  }
}
