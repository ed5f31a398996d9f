package io.merganser.spark.source

import org.apache.spark.sql.types._

/** Columns of a table that a catalog names: the catalog knows some things that the table does not keep. */
object DeclaredColumns {

  /**
   * The table's columns, each with what its catalog entry says besides: the length of char and varchar, tinyint and smallint
   * for what is stored as int, a comment. Names are spelled as they are stored. A column that was added or widened by another
   * way than the catalog is as it is stored.
   *
   * @param stored   the columns as they are now
   * @param declared those of the catalog entry; empty if it has none
   */
  def over(stored: StructType, declared: StructType): StructType = StructType(stored.map { field =>
    declared.find(_.name.equalsIgnoreCase(field.name)) match {
      case Some(said) =>
        val metadata =
          if (said.getComment().isDefined) field.withComment(said.getComment().get).metadata else field.metadata
        field.copy(dataType = typeOver(field.dataType, said.dataType), metadata = metadata)
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
