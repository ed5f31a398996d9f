package io.merganser.table.change

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, Literal, UnsafeProjection}
import org.apache.spark.sql.types.{StringType, StructType}

/** Image and key of rows, each into a row that is reused. */
final class ImageProjection(val image: UnsafeProjection, val key: UnsafeProjection)

/**
 * Projections of the rows before and after a write. They are compiled, so that a task has them once for all of its file
 * groups.
 *
 * @param columns    the rows' first columns: the images
 * @param keyOrdinal position of the record key in the rows
 */
final class ImageProjections(columns: StructType, val keyOrdinal: Int) {
  val before: ImageProjection = projection()
  val after: ImageProjection  = projection()

  private def projection() = new ImageProjection(ImageProjections.image(columns),
    UnsafeProjection.create(Seq(BoundReference(keyOrdinal, StringType, nullable = true))))
}

object ImageProjections {

  def image(columns: StructType): UnsafeProjection =
    UnsafeProjection.create(columns.fields.zipWithIndex.map { case (field, i) =>
      BoundReference(i, field.dataType, nullable = true)
    }.toSeq)

  /** Images of rows that have some of the columns; the others are null. */
  def image(columns: StructType, some: StructType): UnsafeProjection = {
    val at = some.fieldNames.zipWithIndex.toMap
    UnsafeProjection.create(columns.fields.map { field =>
      at.get(field.name).fold[Expression](Literal(null, field.dataType))(BoundReference(_, field.dataType,
          nullable = true))
    }.toSeq)
  }
}
