package io.merganser.spark.prune

import io.merganser.table.avro.Milliseconds
import io.merganser.table.base.BaseFileFooter
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.math.BigInteger
import scala.collection.JavaConverters._

/** Column statistics in the footers of base files. */
private[spark] object ColumnStatistics {

  /**
   * Whether some row group may have a row whose value in each of these columns is in the column's ranges.
   *
   * @param types    the table's data columns
   * @param byColumn ranges of values as [[ValueOrder]] orders them
   * @param stored   name of a column in the file; None if its statistics there do not apply
   */
  def mayHold(
      footer: BaseFileFooter,
      types: StructType,
      byColumn: Map[String, KeyRanges],
      stored: String => Option[String] = Some(_)
  ): Boolean = {
    val inFile = byColumn.toSeq.flatMap { case (column, ranges) =>
      stored(column).map((_, types(column), ranges))
    }
    footer.metadata.getBlocks.asScala.exists { block =>
      inFile.forall { case (column, field, ranges) =>
        block.getColumns.asScala.find(_.getPath.toDotString == column).forall(mayHold(_, field, ranges))
      }
    }
  }

  private def mayHold(chunk: ColumnChunkMetaData, field: StructField, ranges: KeyRanges): Boolean = {
    val statistics: Statistics[_] = chunk.getStatistics
    if (statistics == null || statistics.isEmpty || !statistics.hasNonNullValue) true
    else {
      val (min, max) = ofChunk(chunk.getPrimitiveType, statistics, field)
      min.isEmpty || max.isEmpty || ranges.overlaps(min.get, max.get)
    }
  }

  /** None if the file, written before a column was widened or by another writer, stores the column in another form. */
  private def ofChunk(
      stored: PrimitiveType,
      statistics: Statistics[_],
      field: StructField
  ): (Option[UTF8String], Option[UTF8String]) = {
    def both(value: Any => Option[UTF8String]) = (value(statistics.genericGetMin), value(statistics.genericGetMax))
    (stored.getLogicalTypeAnnotation, field.dataType) match {
      case (_: StringLogicalTypeAnnotation, StringType) =>
        both { case b: Binary => Some(UTF8String.fromBytes(b.getBytes)); case _ => None }
      case (null | (_: IntLogicalTypeAnnotation), ByteType | ShortType | IntegerType | LongType) => both(integer(_, 1L))
      case (_: DateLogicalTypeAnnotation, DateType)                                              => both(integer(_, 1L))
      case (time: TimestampLogicalTypeAnnotation, TimestampType | TimestampNTZType) => time.getUnit match {
          case TimeUnit.MICROS if Milliseconds.areIn(field) => (None, None) // the label may be wrong
          case TimeUnit.MICROS                              => both(integer(_, 1L))
          case TimeUnit.MILLIS                              => both(integer(_, 1000L))
          case _                                            => (None, None)
        }
      case (decimal: DecimalLogicalTypeAnnotation, to: DecimalType) if decimal.getScale == to.scale =>
        both(unscaled(_).map(ValueOrder.ofUnscaled))
      case (null, FloatType | DoubleType) => both {
          case f: java.lang.Float  => Some(ValueOrder.ofDouble(f.doubleValue))
          case d: java.lang.Double => Some(ValueOrder.ofDouble(d))
          case _                   => None
        }
      case _ => (None, None)
    }
  }

  private def integer(value: Any, times: Long): Option[UTF8String] = value match {
    case n: java.lang.Integer => Some(ValueOrder.ofInteger(n.longValue * times))
    case n: java.lang.Long    => Some(ValueOrder.ofInteger(n * times))
    case _                    => None
  }

  private def unscaled(value: Any): Option[BigInteger] = value match {
    case n: java.lang.Integer => Some(BigInteger.valueOf(n.longValue))
    case n: java.lang.Long    => Some(BigInteger.valueOf(n))
    case b: Binary            => Some(new BigInteger(b.getBytes))
    case _                    => None
  }
}
