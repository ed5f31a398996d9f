package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A row whose column `field`, as a string, equals `value` is a delete; exactly, unless `ignoresCase`. */
final case class DeleteMarker(field: String, value: String, ignoresCase: Boolean = false)

/** Detects a delete by the row's own columns. Hot path: one call per version. */
final class DeleteCheck private (flagOrdinal: Int, operationOrdinal: Int, marks: Array[DeleteCheck.Mark])
    extends Serializable {

  /** False when no row can be a delete. */
  val isNeeded: Boolean = flagOrdinal >= 0 || operationOrdinal >= 0 || marks.nonEmpty

  def isDelete(row: InternalRow): Boolean =
    isNeeded && (isFlagged(row) || hasDeleteOperation(row) || isMarked(row))

  private def isFlagged(row: InternalRow): Boolean =
    flagOrdinal >= 0 && !RowAccess.isNullAt(row, flagOrdinal) && RowAccess.getBoolean(row, flagOrdinal)

  private def hasDeleteOperation(row: InternalRow): Boolean =
    operationOrdinal >= 0 && !row.isNullAt(operationOrdinal) && {
      val operation = row.getUTF8String(operationOrdinal)
      operation == DeleteCheck.delete || operation == DeleteCheck.updateBefore
    }

  private def isMarked(row: InternalRow): Boolean = {
    var i = 0
    while (i < marks.length && !marks(i).isOn(row)) i += 1
    i < marks.length
  }
}

object DeleteCheck {
  val FlagColumn      = "_hoodie_is_deleted"
  val OperationColumn = "_hoodie_operation"

  /** Values of the operation column in rows that are deletes: a delete, and an updated row as it was before. */
  val DeleteOperations: Seq[String] = Seq("D", "-U")

  private val delete       = UTF8String.fromString(DeleteOperations.head)
  private val updateBefore = UTF8String.fromString(DeleteOperations.last)

  /** A marker whose column is in the schema. */
  private final class Mark(ordinal: Int, dataType: DataType, value: UTF8String, ignoresCase: Boolean)
      extends Serializable {
    private[this] val lowerCase = value.toLowerCase

    def isOn(row: InternalRow): Boolean = !row.isNullAt(ordinal) && {
      val text = dataType match {
        case StringType => row.getUTF8String(ordinal)
        case other      => UTF8String.fromString(String.valueOf(row.get(ordinal, other)))
      }
      text == value || (ignoresCase && text.toLowerCase == lowerCase)
    }
  }

  /** @param markers those whose column the schema lacks are ignored */
  def apply(schema: StructType, markers: Iterable[DeleteMarker]): DeleteCheck = {
    def ordinalOf(name: String, as: DataType) = schema.indexWhere(f => f.name == name && f.dataType == as)
    val marks = markers.toSeq.flatMap { marker =>
      Some(schema.fieldNames.indexOf(marker.field)).filter(_ >= 0).map { i =>
        new Mark(i, schema(i).dataType, UTF8String.fromString(marker.value), marker.ignoresCase)
      }
    }
    new DeleteCheck(ordinalOf(FlagColumn, BooleanType), ordinalOf(OperationColumn, StringType), marks.toArray)
  }

  /** The columns that must be read to detect deletes. */
  def columns(schema: StructType, markers: Iterable[DeleteMarker]): Seq[String] =
    (Seq(FlagColumn, OperationColumn) ++ markers.map(_.field)).filter(schema.fieldNames.contains).distinct
}
