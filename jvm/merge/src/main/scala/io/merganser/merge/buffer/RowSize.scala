package io.merganser.merge.buffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, UnsafeArrayData, UnsafeMapData, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String

/** Approximate bytes that a copied row takes in memory. */
private[merganser] object RowSize {
  private val ObjectBytes = 48L
  private val FieldBytes  = 24L

  def of(row: InternalRow): Long = row match {
    case unsafe: UnsafeRow               => ObjectBytes + unsafe.getSizeInBytes
    case generic: BaseGenericInternalRow => ofFields(generic.numFields, generic.get(_, null))
    case other                           => ObjectBytes + FieldBytes * other.numFields
  }

  private def ofFields(count: Int, field: Int => Any): Long = {
    var bytes = ObjectBytes
    var i     = 0
    while (i < count) {
      bytes += FieldBytes + ofValue(field(i))
      i += 1
    }
    bytes
  }

  private def ofValue(value: Any): Long = value match {
    case text: UTF8String        => ObjectBytes + text.numBytes
    case bytes: Array[Byte]      => ObjectBytes + bytes.length
    case row: InternalRow        => of(row)
    case array: UnsafeArrayData  => ObjectBytes + array.getSizeInBytes
    case map: UnsafeMapData      => ObjectBytes + map.getSizeInBytes
    case array: GenericArrayData => ofFields(array.array.length, array.array(_))
    case map: ArrayBasedMapData  => ofValue(map.keyArray) + ofValue(map.valueArray)
    case _                       => 0L
  }
}
