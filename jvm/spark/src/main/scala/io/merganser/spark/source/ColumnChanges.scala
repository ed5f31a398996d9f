package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{AvroSchemas, Retyping, Widening}
import io.merganser.table.schema.{ColumnOrder, MetaColumns}
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.types._

/**
 * What ALTER TABLE makes of columns.
 *
 * @param table      its name, for errors
 * @param partitions partition fields of the table: a column without a position is added before them where they are the
 *                   last columns
 * @param isRetyped  whether the type changes of [[Retyping]] are allowed too
 */
private[source] final class ColumnChanges(table: String, partitions: Seq[String], isRetyped: Boolean = true) {

  /**
   * @return the columns after the changes, applied in order
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED
   */
  def applied(columns: StructType, changes: Seq[TableChange]): StructType =
    changes.foldLeft(columns) {
      case (now, add: AddColumn) =>
        val last = if (add.fieldNames.length == 1) partitions else Nil
        around(now, add.fieldNames)(inserted(_, column(add), add.fieldNames, Option(add.position), last))
      case (now, change: UpdateColumnPosition) =>
        around(now, change.fieldNames) { fields =>
          val moved = one(fields, change.fieldNames)
          inserted(without(fields, moved), moved, change.fieldNames, Option(change.position), Nil)
        }
      case (now, rename: RenameColumn) =>
        around(now, rename.fieldNames) { fields =>
          val renamed = one(fields, rename.fieldNames)
          requireNew(without(fields, renamed), rename.newName, rename.fieldNames)
          StructType(fields.map(f => if (f eq renamed) f.copy(name = rename.newName) else f))
        }
      case (now, drop: DeleteColumn) =>
        around(now, drop.fieldNames) { fields =>
          val dropped = one(fields, drop.fieldNames)
          if (fields.length == 1)
            throw refused(drop.fieldNames, "it is the only one, and one must remain", "Drop what contains it")
          without(fields, dropped)
        }
      case (now, change: ColumnChange) => updated(now, change.fieldNames)(changed(change, _))
      case (now, _)                    => now
    }

  private def column(add: AddColumn): StructField = {
    if (add.defaultValue != null)
      throw refused(add.fieldNames, "a default value would not apply to stored rows",
        "Add the column without it, and UPDATE the rows")
    if (!add.isNullable)
      throw refused(add.fieldNames, "stored rows have null there", "Add it without NOT NULL")
    val field = StructField(add.fieldNames.last, add.dataType)
    Option(add.comment).fold(field)(field.withComment)
  }

  private def changed(change: ColumnChange, field: StructField): StructField = change match {
    case c: UpdateColumnType =>
      val (was, is) = (storedType(field.dataType), storedType(c.newDataType))
      if (was != is && !Widening.isPromotion(was, is) && !(isRetyped && isRetyping(was, is)))
        throw refused(c.fieldNames,
          s"stored values of ${field.dataType.catalogString} do not widen to ${c.newDataType.catalogString}",
          if (isRetyping(was, is)) s"${ColumnVersions.Setting}: files are then read by the column's id and new type"
          else "Add another column, and UPDATE it from this one")
      field.copy(dataType = c.newDataType)
    case c: UpdateColumnNullability =>
      if (field.nullable && !c.nullable)
        throw refused(c.fieldNames, "stored rows may contain null there", "Leave it nullable")
      field.copy(nullable = c.nullable)
    case c: UpdateColumnComment =>
      val others = new MetadataBuilder().withMetadata(field.metadata).remove("comment").build()
      Option(c.newComment).filter(_.nonEmpty).foldLeft(field.copy(metadata = others))(_ withComment _)
    case c: UpdateColumnDefaultValue =>
      throw refused(c.fieldNames, "the table's format stores no default values",
        "Give the value when rows are written")
    case c =>
      throw refused(c.fieldNames, s"${c.getClass.getSimpleName} is not supported",
        "Make a new table with CREATE TABLE … AS SELECT")
  }

  private def storedType(dataType: DataType): DataType =
    AvroSchemas.stored(StructType(Seq(StructField("c", dataType)))).head.dataType

  private def inserted(
      fields: StructType,
      field: StructField,
      names: Array[String],
      position: Option[ColumnPosition],
      partitions: Seq[String]
  ): StructType = {
    requireNew(fields, field.name, names)
    position match {
      case Some(_: First) => StructType(field +: fields)
      case Some(p: After) =>
        val before = fields.indexWhere(_.name.equalsIgnoreCase(p.column))
        if (before < 0)
          throw refused(names, s"there is no column '${p.column}' to place it after", "Name an existing column")
        StructType((fields.take(before + 1) :+ field) ++ fields.drop(before + 1))
      case _ => ColumnOrder.withAdded(fields, Seq(field), partitions)
    }
  }

  /** @param names the column's, with those of the structs around it */
  private def requireNew(fields: StructType, name: String, names: Array[String]): Unit = {
    if (fields.exists(_.name.equalsIgnoreCase(name)))
      throw refused(names, s"a column '$name' exists", "Choose another name")
    if (names.length == 1 && MetaColumns.isReserved(name))
      throw refused(names, "columns of that name come from the table itself or from a change stream",
        "Choose another name")
  }

  /** As Hudi does where a table has versions of its columns. */
  private def isRetyping(was: DataType, is: DataType): Boolean =
    Retyping.isAllowed(was, is) || (was == BinaryType && is == StringType)

  /** Changes one field by its path. */
  private def updated(columns: StructType, names: Array[String])(change: StructField => StructField): StructType =
    around(columns, names, Some(change)) { fields =>
      val field = one(fields, names)
      StructType(fields.map(f => if (f eq field) change(f) else f))
    }

  private def without(fields: StructType, one: StructField) = StructType(fields.filterNot(_ eq one))

  private def one(fields: StructType, names: Array[String]): StructField =
    fields.find(_.name == names.last).orElse(fields.find(_.name.equalsIgnoreCase(names.last)))
      .getOrElse(throw refused(names, "there is no such column", "Correct the name"))

  /**
   * Changes the fields of the struct that contains a column. Elements of arrays and values of maps are steps of a path,
   * named `element` and `value`.
   *
   * @param names of the column and the structs around it
   * @param leaf  change of the element or value that the path ends with
   */
  private def around(columns: StructType, names: Array[String], leaf: Option[StructField => StructField] = None)(
      change: StructType => StructType
  ): StructType = {
    def within(dataType: DataType, rest: Seq[String]): DataType = (dataType, rest) match {
      case (s: StructType, Seq()) => change(s)
      case (s: StructType, Seq(name, more @ _*)) =>
        val field = one(s, names.take(names.length - 1 - more.length))
        StructType(
          s.map(f =>
            if ((f eq field) && f.name.equalsIgnoreCase(name)) f.copy(dataType = within(f.dataType, more)) else f))
      case (a: ArrayType, Seq("element", more @ _*)) => a.copy(elementType = within(a.elementType, more))
      case (m: MapType, Seq("value", more @ _*))     => m.copy(valueType = within(m.valueType, more))
      case (a: ArrayType, Seq()) if leaf.isDefined && names.last == "element" =>
        val field = leaf.get(StructField("element", a.elementType, a.containsNull))
        ArrayType(field.dataType, field.nullable)
      case (m: MapType, Seq()) if leaf.isDefined && names.last == "value" =>
        val field = leaf.get(StructField("value", m.valueType, m.valueContainsNull))
        MapType(m.keyType, field.dataType, field.nullable)
      case _ => throw refused(names, "there is no such column", "Correct the name")
    }
    within(columns, names.dropRight(1).toSeq).asInstanceOf[StructType]
  }

  private def refused(names: Array[String], reason: String, remedy: String): MerganserException =
    ColumnChanges.refused(table, names, reason, remedy)
}

private[source] object ColumnChanges {

  private[source] def refused(table: String, names: Array[String], reason: String, remedy: String): MerganserException =
    MerganserException("COLUMN_CHANGE_UNSUPPORTED", "table" -> table, "column" -> names.mkString("."),
      "reason" -> reason,
      "remedy" -> remedy)
}
