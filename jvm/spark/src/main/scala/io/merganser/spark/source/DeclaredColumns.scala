package io.merganser.spark.source

import org.apache.spark.sql.types._

/** Columns of a catalog table: the catalog entry has some properties that the table does not store. */
object DeclaredColumns {

  /**
   * The table's columns with the additions of its catalog entry: lengths of char and varchar, tinyint and smallint for
   * columns stored as int, comments. Names are spelled as stored. A column that was added or widened without the
   * catalog stays as stored.
   *
   * @param stored   the columns as they are now
   * @param declared those of the catalog entry; empty if it has none
   */
  def over(stored: StructType, declared: StructType): StructType = StructType(stored.map { field =>
    declared.find(_.name.equalsIgnoreCase(field.name)) match {
      case Some(entry) =>
        val metadata =
          if (entry.getComment().isDefined) field.withComment(entry.getComment().get).metadata else field.metadata
        field.copy(dataType = typeOver(field.dataType, entry.dataType), metadata = metadata)
      case None => field
    }
  })

  private def typeOver(stored: DataType, declared: DataType): DataType = (stored, declared) match {
    case (s: StructType, d: StructType) => over(s, d)
    case (s: ArrayType, d: ArrayType)   => ArrayType(typeOver(s.elementType, d.elementType), s.containsNull)
    case (s: MapType, d: MapType)       => MapType(s.keyType, typeOver(s.valueType, d.valueType), s.valueContainsNull)
    case (StringType, _: CharType)      => declared
    case (StringType, _: VarcharType)   => declared
    case (IntegerType, ByteType | ShortType) => declared
    case _                                   => stored
  }
}
