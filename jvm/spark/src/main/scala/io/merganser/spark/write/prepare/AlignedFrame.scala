package io.merganser.spark.write.prepare

import io.merganser.merge.DeleteCheck
import io.merganser.spark.write.prepare.WriteRow.quoted
import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.{Column, DataFrame}
import org.apache.spark.sql.functions.{lit, struct, transform, transform_values, when}
import org.apache.spark.sql.types._

/** A frame's rows in the table's columns and types, then the columns of [[WriteRow]] that the frame has. */
private[prepare] final class AlignedFrame(frame: DataFrame, of: Preparation, unconditionalDelete: Column) {
  private val marks = FrameCheck.deleteMarks(frame.schema, of.schema)

  /** Columns that mark deletes and are not stored. */
  val control: StructType = StructType(marks.map(controlField))

  /** Whether rows may name stored rows. */
  val isIdentified: Boolean = has(WriteRow.StoredKey)

  val rows: DataFrame = {
    val mask = if (has(WriteRow.Mask)) quoted(WriteRow.Mask) else lit(0)
    frame.select(WriteRow.select(WriteRow(
          of.schema.map(f => WriteColumn(f, value(f))) ++ marks.map(m => WriteColumn(controlField(m), mark(m))) ++ Seq(
            own(WriteRow.StoredKey),
            own(WriteRow.StoredPath),
            own(WriteRow.SourceArrival),
            own(WriteRow.OrderedDelete),
            own(WriteRow.GeneratedKey),
            WriteColumn(WriteRow.UnconditionalDelete, unconditionalDelete),
            WriteColumn(WriteRow.Mask, mask, isPresent = of.masks.nonEmpty),
            own(WriteRow.Outcome),
            own(WriteRow.Slice)
          ))): _*)
  }

  def has(column: StructField): Boolean = frame.schema.fieldNames.contains(column.name)

  /** A column of the frame, if it has it. */
  def own(column: StructField): WriteColumn[Column] = WriteColumn(column, quoted(column), has(column))

  private def controlField(mark: StructField): StructField =
    if (mark.name.equalsIgnoreCase(DeleteCheck.FlagColumn)) StructField(DeleteCheck.FlagColumn, BooleanType)
    else StructField(DeleteCheck.OperationColumn, StringType)

  /** A column that marks deletes and is not stored: null in other rows, since rules fill columns with values. */
  private def mark(field: StructField): Column = {
    val control = controlField(field)
    val value   = quoted(field.name).cast(control.dataType)
    val isSet   = if (control.dataType == BooleanType) value else value.isin(DeleteCheck.DeleteOperations: _*)
    when(isSet, value)
  }

  /** The frame's column in the table's type; columns and struct fields are matched by name. */
  private def value(field: StructField): Column =
    FrameCheck.find(frame.schema, field.name) match {
      case Some(found)             => converted(quoted(found.name), found.dataType, field.dataType)
      case None if of.allowMissing => lit(null).cast(field.dataType)
      case None => throw new IllegalStateException(s"column '${field.name}' is missing and was not rejected")
    }

  /** A field that a struct lacks becomes null; where that is not allowed, the write was rejected before. */
  private def converted(value: Column, from: DataType, to: DataType): Column = (from, to) match {
    case (a, b) if a == b => value
    case (a: StructType, b: StructType) =>
      val fields = b.map { f =>
        val own = FrameCheck.find(a, f.name)
        own.fold(lit(null).cast(f.dataType))(o => converted(value.getField(o.name), o.dataType, f.dataType)).as(f.name)
      }
      when(value.isNotNull, struct(fields: _*))
    case (a: ArrayType, b: ArrayType) if a.elementType != b.elementType =>
      transform(value, (element: Column) => converted(element, a.elementType, b.elementType))
    case (a: MapType, b: MapType) if a.keyType == NullType => value.cast(b) // an empty one
    case (a: MapType, b: MapType) if a.valueType != b.valueType =>
      transform_values(value, (_: Column, v: Column) => converted(v, a.valueType, b.valueType))
    case (_: ArrayType, _) | (_: MapType, _) => value
    case _                                   => value.cast(to)
  }
}
