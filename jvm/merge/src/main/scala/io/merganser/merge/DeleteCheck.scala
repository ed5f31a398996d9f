package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A row whose column `field`, as text, equals `value` exactly is a delete. */
final case class DeleteMarker(field: String, value: String)

/** Tells a delete by the row's own columns. Hot path: one call per version. */
final class DeleteCheck private (flagOrdinal: Int, operationOrdinal: Int, markerOrdinal: Int, markerType: DataType, marker: UTF8String)
    extends Serializable {

  /** False when no row can be a delete. */
  val isNeeded: Boolean = flagOrdinal >= 0 || operationOrdinal >= 0 || markerOrdinal >= 0

  def isDelete(row: InternalRow): Boolean =
    isNeeded && (isFlagged(row) || hasDeleteOperation(row) || isMarked(row))

  private def isFlagged(row: InternalRow): Boolean =
    flagOrdinal >= 0 && !row.isNullAt(flagOrdinal) && row.getBoolean(flagOrdinal)

  private def hasDeleteOperation(row: InternalRow): Boolean =
    operationOrdinal >= 0 && !row.isNullAt(operationOrdinal) && {
      val operation = row.getUTF8String(operationOrdinal)
      operation == DeleteCheck.Delete || operation == DeleteCheck.UpdateBefore
    }

  private def isMarked(row: InternalRow): Boolean =
    markerOrdinal >= 0 && !row.isNullAt(markerOrdinal) && {
      markerType match {
        case StringType => row.getUTF8String(markerOrdinal) == marker
        case other      => UTF8String.fromString(String.valueOf(row.get(markerOrdinal, other))) == marker
      }
    }
}

object DeleteCheck {
  val FlagColumn      = "_hoodie_is_deleted"
  val OperationColumn = "_hoodie_operation"

  private val Delete       = UTF8String.fromString("D")
  private val UpdateBefore = UTF8String.fromString("-U")

  def apply(schema: StructType, marker: Option[DeleteMarker]): DeleteCheck = {
    def ordinal(name: String)                 = schema.fieldNames.indexOf(name)
    def ordinalOf(name: String, as: DataType) = schema.indexWhere(f => f.name == name && f.dataType == as)
    val markerOrdinal                         = marker.map(m => ordinal(m.field)).getOrElse(-1)
    new DeleteCheck(
      ordinalOf(FlagColumn, BooleanType),
      ordinalOf(OperationColumn, StringType),
      markerOrdinal,
      if (markerOrdinal < 0) null else schema(markerOrdinal).dataType,
      marker.map(m => UTF8String.fromString(m.value)).orNull
    )
  }

  /** The columns a row must be read with, so that its deletes are seen. */
  def columns(schema: StructType, marker: Option[DeleteMarker]): Seq[String] =
    (Seq(FlagColumn, OperationColumn) ++ marker.map(_.field)).filter(schema.fieldNames.contains).distinct
}
