package io.merganser.table.log

import io.merganser.table.Rows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable.ArrayBuffer

/** Records what a scan passed to it: rows as their values, deletes as `Deleted`. */
final class Recorded(schema: StructType) extends LogSink {
  val all      = ArrayBuffer.empty[Any]
  val provided = ArrayBuffer.empty[Seq[Boolean]]

  override def row(row: InternalRow, mask: Array[Boolean], inserts: Boolean): Unit = {
    all += Rows.plain(row, schema)
    provided += (if (mask == null) null else mask.toSeq)
  }

  override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit =
    all += Deleted(String.valueOf(key), String.valueOf(partitionPath),
      if (ordering == null) null else ordering.toSeq.map(Recorded.comparable))
}

object Recorded {

  /** A Catalyst value in a form that compares by equality. */
  def comparable(value: Any): Any = value match {
    case text: UTF8String => text.toString
    case bytes: Array[_]  => bytes.toSeq
    case float: Float     => java.lang.Float.floatToIntBits(float)
    case double: Double   => java.lang.Double.doubleToLongBits(double)
    case other            => other
  }
}

final case class Deleted(key: String, partitionPath: String, ordering: Seq[Any])
