package io.merganser.merge.buffer

import io.merganser.merge.{BufferedRecord, RowLayout}
import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering
import org.apache.spark.sql.execution.UnsafeExternalRowSorter
import org.apache.spark.sql.types._
import org.apache.spark.util.collection.unsafe.sort.PrefixComparators

/** Versions in runs sorted by key and age; Spark's memory manager spills them to the task's local disk. */
private[buffer] final class SortedSpill(layout: RowLayout) {
  private[this] val width   = layout.schema.length
  private[this] val sorter  = SortedSpill.sorter(SortedSpill.storedSchema(layout), layout.keyOrdinal, width)
  private[this] val project = UnsafeProjection.create(SortedSpill.storedSchema(layout))
  private[this] val extra   = new GenericInternalRow(3)
  private[this] val joined  = new JoinedRow
  private[this] var age     = 0L

  def addWithEarlier(version: BufferedRecord): Unit = version.apart.foreach(add)

  def add(version: BufferedRecord): Unit = {
    extra.update(0, age)
    extra.update(1, SortedSpill.flags(version))
    extra.update(2, if (version.provided == null) null else version.provided.map(p => if (p) 1.toByte else 0.toByte))
    sorter.insertRow(project(joined(version.row, extra)))
    age += 1
  }

  def cursor(): VersionCursor = new VersionCursor {
    private[this] val rows   = sorter.sort()
    override val record      = new BufferedRecord
    override def next(): Boolean = rows.hasNext && {
      val row = rows.next()
      SortedSpill.fill(record, row, row.getInt(width + 1), if (row.isNullAt(width + 2)) null else row.getBinary(width + 2))
      true
    }
  }
}

private[buffer] object SortedSpill {

  def storedSchema(layout: RowLayout): StructType = StructType(layout.schema ++ Seq(
    StructField("age", LongType, nullable = false),
    StructField("flags", IntegerType, nullable = false),
    StructField("provided", BinaryType)
  ))

  /** Rows in ascending order of their key's unsigned bytes; rows of one key keep their order. */
  def sortByKey(rows: Iterator[InternalRow], layout: RowLayout): Iterator[InternalRow] = {
    val schema  = StructType(layout.schema :+ StructField("age", LongType, nullable = false))
    val project = UnsafeProjection.create(schema)
    val joined  = new JoinedRow
    val extra   = new GenericInternalRow(1)
    val sort    = sorter(schema, layout.keyOrdinal, layout.schema.length)
    var age     = 0L
    while (rows.hasNext) {
      extra.update(0, age)
      sort.insertRow(project(joined(rows.next(), extra)))
      age += 1
    }
    sort.sort()
  }

  private def flags(v: BufferedRecord): Int = (if (v.isDelete) 1 else 0) | (if (v.isUnordered) 2 else 0) | (if (v.endsHistory) 4 else 0)

  private def fill(record: BufferedRecord, row: InternalRow, flags: Int, provided: Array[Byte]): Unit = {
    record.set(row, (flags & 1) != 0, (flags & 2) != 0)
    record.endsHistory = (flags & 4) != 0
    record.provided = if (provided == null) null else provided.map(_ != 0)
  }

  private def sorter(schema: StructType, keyOrdinal: Int, ageOrdinal: Int): UnsafeExternalRowSorter = {
    val order = Seq(keyOrdinal, ageOrdinal).map(i => SortOrder(BoundReference(i, schema(i).dataType, nullable = false), Ascending))
    val prefixOf = new UnsafeExternalRowSorter.PrefixComputer {
      private[this] val prefix = new UnsafeExternalRowSorter.PrefixComputer.Prefix
      override def computePrefix(row: InternalRow): UnsafeExternalRowSorter.PrefixComputer.Prefix = {
        prefix.isNull = false
        prefix.value = PrefixComparators.StringPrefixComparator.computePrefix(row.getUTF8String(keyOrdinal))
        prefix
      }
    }
    UnsafeExternalRowSorter.create(schema, new LazilyGeneratedOrdering(order), PrefixComparators.STRING, prefixOf, pageSizeBytes, false)
  }

  private def pageSizeBytes: Long = SparkEnv.get.conf.getSizeAsBytes("spark.buffer.pageSize", "4m")
}
