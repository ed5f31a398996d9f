package io.merganser.table.slice

import io.merganser.merge.buffer.StoredDeletes
import io.merganser.merge.{KeyFold, OrderingField, RowLayout, Version}
import io.merganser.table.avro.{AvroInput, AvroOutput}
import io.merganser.table.base.{BaseFileFooter, BaseFileSection}
import io.merganser.table.file.BaseFile
import io.merganser.table.log.{DeleteRecords, LogDelete}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.InstantTime
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.util.zip.{DeflaterOutputStream, InflaterInputStream}
import java.time.Duration

import scala.collection.mutable

/**
 * A delete that a base file retains.
 *
 * @param ordering Catalyst values in the order of the ordering fields; a value may be null
 * @param since    instant of the write or compaction that put it into a base file: its time is counted from there
 */
final case class Tombstone(ordering: Array[Any], since: String)

/**
 * The deletes that a base file retains, by record key: none of a key that has a row in the file. They are the oldest
 * versions of their keys: what logs have is newer.
 *
 * A file has them in a section of its own ([[BaseFileSection]]), so that they come, are replaced and are removed with
 * the file. Format, compressed by zlib: a version, 1; the number of instants; then, for each, the instant, the number
 * of its deletes and these as records of a delete block, without partition paths. Integers and strings are those of
 * Avro.
 */
final class Tombstones private (val byKey: Map[UTF8String, Tombstone]) {
  def isEmpty: Boolean = byKey.isEmpty

  def keys: Iterator[UTF8String] = byKey.keysIterator

  /** Without those that are older than a time. @param at instant of the write that retains them */
  def retainedAt(at: String, hours: Long): Tombstones =
    if (isEmpty) this else new Tombstones(byKey.filter { case (_, t) => Tombstones.age(t.since, at) < hours })

  /** These and others; of a key in both the delete that wins by the table's rule. */
  private[slice] def newest(others: Tombstones, layout: RowLayout, fold: KeyFold): Tombstones = {
    val (own, later) = (versions(layout, ""), others.versions(layout, ""))
    Tombstones(byKey ++ others.byKey.filter { case (key, _) =>
      val (one, other) = (own.find(key), later.find(key))
      one == null || (fold.merge(one, other) eq other)
    })
  }

  /** As versions of the rows of a layout; each call returns a version of its own. */
  def versions(layout: RowLayout, partitionPath: String): StoredDeletes = {
    val at   = layout.schema.fieldNames.indexOf(MetaColumns.PartitionPath)
    val path = UTF8String.fromString(partitionPath)
    new StoredDeletes {
      override def find(key: UTF8String): Version = byKey.get(key) match {
        case None => null
        case Some(tombstone) =>
          val row = new GenericInternalRow(layout.schema.length)
          row.update(layout.keyOrdinal, key.copy())
          if (at >= 0) row.update(at, path)
          layout.ordering.indices.foreach(i => layout.ordering(i).put(row, tombstone.ordering(i)))
          new Version().set(row, isDelete = true, isUnconditional = false)
      }
    }
  }

  def encode(orderingTypes: Array[DataType]): Array[Byte] = {
    val out = new AvroOutput()
    out.writeInt(Tombstones.Format)
    val groups = byKey.toSeq.groupBy(_._2.since).toSeq.sortBy(_._1)
    out.writeInt(groups.size)
    groups.foreach { case (since, deletes) =>
      out.writeString(UTF8String.fromString(since))
      out.writeInt(deletes.size)
      deletes.sortBy(_._1).foreach { case (key, tombstone) =>
        DeleteRecords.encode(LogDelete(key, null, tombstone.ordering), orderingTypes, orderingTypes.map(_ => false),
          out)
      }
    }
    val bytes   = new ByteArrayOutputStream
    val deflate = new DeflaterOutputStream(bytes)
    out.writeTo(deflate)
    deflate.close()
    bytes.toByteArray
  }
}

object Tombstones {
  private val Format = 1

  val none: Tombstones = new Tombstones(Map.empty)

  def apply(byKey: Map[UTF8String, Tombstone]): Tombstones = if (byKey.isEmpty) none else new Tombstones(byKey)

  /** @throws io.merganser.merge.MerganserException BASE_FILE_UNREADABLE */
  def of(storage: Storage, base: BaseFile, footer: BaseFileFooter, ordering: Array[OrderingField]): Tombstones =
    BaseFileSection.of(footer, BaseFileFooter.Tombstones).filter(_ => ordering.nonEmpty).fold(none) { section =>
      val path  = storage.path(base.path)
      val bytes = section.read(storage.conf, path, base.sizeBytes)
      BaseFileFooter.named(path, base.sizeBytes)(decode(bytes, ordering.map(_.dataType)))
    }

  private[slice] def decode(bytes: Array[Byte], orderingTypes: Array[DataType]): Tombstones = {
    val inflated = readAll(new InflaterInputStream(new ByteArrayInputStream(bytes)))
    val in       = new AvroInput().reset(inflated, 0, inflated.length)
    val format   = in.readInt()
    if (format != Format) throw new IllegalArgumentException(s"its deletes have format $format, not $Format")
    val decoder = new DeleteRecords.Decoder(orderingTypes, orderingTypes.map(_ => false), isZeroAbsent = false)
    val found   = Map.newBuilder[UTF8String, Tombstone]
    (0 until in.readInt()).foreach { _ =>
      val since = in.readString().toString
      (0 until in.readInt()).foreach { _ =>
        if (in.readInt() != 1) throw new IllegalArgumentException("a delete has no key")
        val key = in.readString().copy()
        if (in.readInt() != 0) in.readString()
        found += key -> Tombstone(decoder.ordering(in), since)
      }
    }
    Tombstones(found.result())
  }

  private def readAll(in: InflaterInputStream): Array[Byte] = {
    val out    = new ByteArrayOutputStream
    val buffer = new Array[Byte](8192)
    Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach(out.write(buffer, 0, _))
    out.toByteArray
  }

  /** Whole hours between two instants; none if one of them is no time. */
  private def age(from: String, to: String): Long =
    (for (a <- InstantTime.parse(from); b <- InstantTime.parse(to)) yield Duration.between(a, b).toHours).getOrElse(0L)
}

/**
 * Collects the deletes that a new base file retains: those of the file before it, and those that removed rows or would
 * have.
 *
 * @param before   of the base file that is replaced
 * @param ordering the ordering fields in the rows of the merge
 * @param instant  of the write
 */
private[slice] final class TombstoneCollector(
    before: Tombstones,
    ordering: Array[OrderingField],
    key: Int,
    instant: String
) {
  private[this] val all = mutable.HashMap.empty[UTF8String, Tombstone] ++ before.byKey

  /** The key has a row now. */
  def live(row: InternalRow): Unit =
    if (all.nonEmpty) all -= row.getUTF8String(key)

  /** The key has no row. @param winner the version that removed it, or the newest that is no row */
  def gone(winner: Version): Unit = if (winner.isDelete) {
    val own = winner.row.getUTF8String(key)
    if (winner.isUnconditional) all -= own
    else {
      val values = ordering.map(field => InternalRow.copyValue(field.valueIn(winner.row)))
      // The same delete again, read from the file: its time goes on.
      if (!all.get(own).exists(t => java.util.Arrays.deepEquals(boxed(t.ordering), boxed(values))))
        all += own.copy() -> Tombstone(values, instant)
    }
  }

  def result: Tombstones = Tombstones(all.toMap)

  private def boxed(values: Array[Any]): Array[AnyRef] = values.map(_.asInstanceOf[AnyRef])
}
