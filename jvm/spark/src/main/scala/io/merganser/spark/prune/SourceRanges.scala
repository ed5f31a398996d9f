package io.merganser.spark.prune

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.slice.FileSlice
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Ranges of the values in a statement's source, collected by its tasks. A stored row outside them cannot match, and a
 * file whose statistics overlap none of them has no row that matters.
 *
 * @param byColumn ranges of each column's values, as [[ValueOrder]] orders them; for the record key, of key strings
 */
final class SourceRanges(val byColumn: Map[String, KeyRanges]) extends Serializable {

  def ++(other: Option[SourceRanges]): SourceRanges = other.fold(this)(o => new SourceRanges(byColumn ++ o.byColumn))

  /** Whether a partition in a folder, or in any folder below it, may have a matching row. */
  def mayContain(pruning: PartitionPruning, folder: String): Boolean =
    folder.isEmpty || pruning.below(folder).forall { case (column, shown) =>
      byColumn.get(column).forall { ranges =>
        shown match {
          case PartitionPruning.Exactly(value) =>
            ordered(pruning.schema, column, value).forall(v => ranges.overlaps(v, v))
          // All strings that go on with a slash are less than the one with the character after it.
          case PartitionPruning.Below(text) =>
            ranges.overlaps(UTF8String.fromString(text), UTF8String.fromString(s"${text}0"))
          case _ => true
        }
      }
    }

  private def ordered(types: StructType, column: String, value: Any): Option[UTF8String] =
    FrameCheck.find(types, column).flatMap(field => ValueOrder.ofExternal(value, field.dataType))

  /** The slices that may hold a matching row. */
  def prune(session: SparkSession, table: OpenTable, slices: Seq[FileSlice]): Seq[FileSlice] = {
    val paths = PartitionPruning(table.config, table.schema)
    val types = table.schema
    val here = slices.map(_.partitionPath).distinct.filter(path =>
      paths.values(path).forall(_.forall { case (column, value) =>
        byColumn.get(column).forall(ranges => ordered(types, column, value).forall(v => ranges.overlaps(v, v)))
      })).toSet
    val kept             = slices.filter(s => here(s.partitionPath))
    val (baseOnly, rest) = kept.partition(s => s.logs.isEmpty && s.base.isDefined)
    val ofFile = byColumn.filter { case (column, _) =>
      types.fieldNames.contains(column) || column == MetaColumns.RecordKey
    }
    if (ofFile.isEmpty || baseOnly.isEmpty) kept
    else {
      val shared  = session.sparkContext.broadcast(ofFile)
      val storage = table.storage
      val history = table.timeline.history
      val found = session.sparkContext
        .parallelize(baseOnly, math.min(baseOnly.size, math.max(1, session.sparkContext.defaultParallelism)))
        .filter { slice =>
          val base = slice.base.get
          // Under a name that a column has now, a file may have another one.
          val columns = history.map(_.columns(base.instant))
          SourceRanges.mayHold(BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes), types,
            shared.value, column => columns.fold(Option(column))(_.measured(column)))
        }
        .collect().toSeq
      found ++ rest
    }
  }
}

object SourceRanges {

  /**
   * @param rows    the source
   * @param columns names of the target's columns, with the ordinal and type of the source's values for them
   */
  def of(rows: RDD[InternalRow], columns: Seq[(String, Int, DataType)]): SourceRanges = {
    val found = Partitions.reduce(rows) { it =>
      val builders = columns.map(_ => new KeyRanges.Builder)
      it.foreach { row =>
        columns.zip(builders).foreach { case ((_, at, dataType), builder) =>
          // A null equals nothing.
          if (!row.isNullAt(at)) builder.add(ValueOrder.of(row, at, dataType))
        }
      }
      Iterator(builders.map(_.result()))
    }((a, b) => a.zip(b).map { case (x, y) => x ++ y })
    val ranges = found.getOrElse(columns.map(_ => (new KeyRanges.Builder).result()))
    // A column may be compared for equality several times: all must hold, so the ranges of one suffice.
    new SourceRanges(
      columns.map(_._1).zip(ranges).groupBy(_._1).map { case (name, several) => name -> several.head._2 })
  }

  private def mayHold(
      footer: BaseFileFooter,
      types: StructType,
      byColumn: Map[String, KeyRanges],
      stored: String => Option[String]
  ): Boolean =
    byColumn.get(MetaColumns.RecordKey).forall(_.overlaps(footer.minKey, footer.maxKey)) &&
      (footer.retainsDeletes || ColumnStatistics.mayHold(footer, types, byColumn - MetaColumns.RecordKey, stored))
}
