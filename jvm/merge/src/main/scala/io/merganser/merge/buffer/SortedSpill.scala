package io.merganser.merge.buffer

import io.merganser.merge.{Version, RowLayout}
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.execution.UnsafeExternalRowSorter
import org.apache.spark.sql.types._
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators

/**
 * Versions in runs sorted by key and age; Spark's memory manager spills them to the task's local disk, and frees them
 * when they have been read or the task ends.
 */
private[buffer] final class SortedSpill(layout: RowLayout) {
  import SortedSpill.{Flags, Provided}

  private[this] val sorter =
    new KeyedSorter(layout,
      Seq(StructField("flags", IntegerType, nullable = false), StructField("provided", BinaryType)))

  def addWithEarlier(version: Version): Unit = version.oldestFirst.foreach(add)

  def add(version: Version): Unit = {
    sorter.extra.update(Flags, SortedSpill.flags(version))
    sorter.extra.update(Provided,
      if (version.provided == null) null else version.provided.map(p => if (p) 1.toByte else 0.toByte))
    sorter.add(version.row)
  }

  def cursor(): VersionCursor = new VersionCursor {
    private[this] val entries = sorter.sorted()
    override val record       = new Version
    override def next(): Boolean = entries.hasNext && {
      val entry = entries.next()
      val flags = entry.getInt(Flags)
      record.set(sorter.row(entry), (flags & 1) != 0, (flags & 2) != 0)
      record.endsHistory = (flags & 4) != 0
      record.inserts = (flags & 8) != 0
      record.combinedUnconditional = (flags & 16) != 0
      record.isRetained = (flags & 32) != 0
      record.provided = if (entry.isNullAt(Provided)) null else entry.getBinary(Provided).map(_ != 0)
      true
    }
  }
}

private[buffer] object SortedSpill {
  private val Flags    = 3
  private val Provided = 4

  /** Rows in ascending order of their key's unsigned bytes; rows of one key keep their order. */
  def sortByKey(rows: Iterator[InternalRow], layout: RowLayout): Iterator[InternalRow] = {
    val sorter = new KeyedSorter(layout, Nil)
    while (rows.hasNext) sorter.add(rows.next())
    sorter.sorted().map(sorter.row)
  }

  private def flags(v: Version): Int =
    (if (v.isDelete) 1 else 0) | (if (v.isUnconditional) 2 else 0) | (if (v.endsHistory) 4 else 0) | (if (v.inserts) 8
                                                                                                      else 0) |
      (if (v.combinedUnconditional) 16 else 0) | (if (v.isRetained) 32 else 0)
}

/**
 * Sorts entries (key, age, row, then `fields`) by key and age. The row is one struct column, so that it keeps its
 * columns; each of them may be null, as in a delete.
 */
private final class KeyedSorter(layout: RowLayout, fields: Seq[StructField]) {
  private[this] val width = layout.schema.length
  private[this] val entrySchema = StructType(
    Seq(
      StructField("key", StringType, nullable = false),
      StructField("age", LongType, nullable = false),
      StructField("row", StructType(layout.schema.map(_.copy(nullable = true))), nullable = false)
    ) ++ fields
  )
  private[this] val project = UnsafeProjection.create(entrySchema)
  private[this] val sorter = {
    val order = Seq(0, 1).map(i => SortOrder(BoundReference(i, entrySchema(i).dataType, nullable = false), Ascending))
    UnsafeExternalRowSorter.create(
      entrySchema,
      new LazilyGeneratedOrdering(order),
      PrefixComparators.STRING,
      KeyPrefix,
      KeyedSorter.pageSizeBytes,
      false
    )
  }
  private[this] var age = 0L

  /** The next entry; the caller sets its `fields`, from position 3 on. */
  val extra = new GenericInternalRow(entrySchema.length)

  def add(row: InternalRow): Unit = {
    extra.update(0, layout.key(row))
    extra.update(1, age)
    extra.update(2, row)
    sorter.insertRow(project(extra))
    age += 1
  }

  def sorted(): Iterator[InternalRow] = sorter.sort()

  def row(entry: InternalRow): InternalRow = entry.getStruct(2, width)

  private object KeyPrefix extends UnsafeExternalRowSorter.PrefixComputer {
    private[this] val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix

    override def computePrefix(entry: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
      prefix.isNull = false
      prefix.value = PrefixComparators.StringPrefixComparator.computePrefix(entry.getUTF8String(0))
      prefix
    }
  }
}

private object KeyedSorter {
  def pageSizeBytes: Long = SparkEnv.get.conf.getSizeAsBytes("spark.buffer.pageSize", "4m")
}
