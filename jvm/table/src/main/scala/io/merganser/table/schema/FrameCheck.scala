package io.merganser.table.schema

import io.merganser.merge.{ColumnDefault, DeleteCheck, MerganserException}
import io.merganser.table.avro.Widening
import io.merganser.table.avro.StringTypes.isString
import org.apache.spark.sql.types._

/** Whether a schema has what a table needs: checked at creation and before every write, without reading rows. */
object FrameCheck {

  /**
   * A column, or a field inside a struct column by its dotted name; the exact spelling first, then any case.
   */
  def find(schema: StructType, name: String): Option[StructField] = {
    def within(fields: StructType, wanted: String): Option[StructField] =
      fields.find(_.name == wanted).orElse(
        Some(fields.filter(_.name.equalsIgnoreCase(wanted))).filter(_.size == 1).map(_.head))
    within(schema, name).orElse(name.indexOf('.') match {
      case -1 => None
      case at =>
        within(schema, name.take(at)).map(_.dataType).collect { case inner: StructType => inner }
          .flatMap(inner => find(inner, name.drop(at + 1)))
    })
  }

  /**
   * The frame's column that marks deletes, by its name in any case; None where the table has a column of that name,
   * which is then a column like any other.
   */
  def deleteFlag(frame: StructType, stored: StructType): Option[StructField] =
    find(frame, DeleteCheck.FlagColumn).filter(flag => find(stored, flag.name).isEmpty)

  /** Columns as a new table names them: the one that marks deletes as its readers look for it. */
  def ofNewTable(columns: StructType): StructType = {
    val flag = deleteFlag(columns, StructType(Nil))
    StructType(columns.map(f => if (flag.contains(f)) f.copy(name = DeleteCheck.FlagColumn) else f))
  }

  /** The frame's columns that mark deletes and are not stored: [[deleteFlag]], and the operation of change streams. */
  def deleteMarks(frame: StructType, stored: StructType): Seq[StructField] =
    deleteFlag(frame, stored).toSeq ++
      find(frame, DeleteCheck.OperationColumn).filter(operation => find(stored, operation.name).isEmpty)

  /**
   * A column that marks deletes is boolean: of any other type it would mark none.
   *
   * @throws MerganserException DELETE_FLAG_NOT_BOOLEAN
   */
  def requireDeleteFlag(frame: StructType, stored: StructType, table: String, operation: String): Unit =
    deleteFlag(frame, stored).filter(f => f.dataType != BooleanType && f.dataType != NullType).foreach { flag =>
      throw MerganserException("DELETE_FLAG_NOT_BOOLEAN", "operation" -> operation, "table" -> table,
        "column" -> flag.name, "type" -> flag.dataType.catalogString)
    }

  /**
   * Key, ordering and partition columns exist and have a usable type.
   *
   * All of them may be fields inside struct columns.
   *
   * @param ordering  pass none where a frame need not carry ordering values, such as the keys of a delete
   * @param operation what the user was doing, for the message: "create", "upsert into"
   * @throws MerganserException RECORD_KEY_COLUMN_MISSING, PARTITION_COLUMN_MISSING, ORDERING_FIELD_MISSING,
   *                            KEY_TYPE_UNSUPPORTED or ORDERING_TYPE_UNORDERED
   */
  def requireColumns(
      schema: StructType,
      table: String,
      operation: String,
      keys: Seq[String],
      partitions: Seq[String],
      ordering: Seq[String]
  ): Unit = {
    def require(field: String, condition: String): StructField = find(schema, field).getOrElse(
      throw MerganserException(condition, "operation" -> operation, "table" -> table, "field" -> field,
        "columns" -> MetaColumns.ofUser(schema).fieldNames.mkString(", "))
    )
    for (field <- keys) refuseKeyType(table, "record key", field, require(field, "RECORD_KEY_COLUMN_MISSING").dataType)
    for (field <- partitions)
      refuseKeyType(table, "partition", field, require(field, "PARTITION_COLUMN_MISSING").dataType)
    for (field <- ordering)
      require(field, "ORDERING_FIELD_MISSING").dataType match {
        case unordered @ (_: ArrayType | _: MapType | _: StructType) =>
          throw MerganserException("ORDERING_TYPE_UNORDERED", "table" -> table, "field" -> field,
            "type" -> unordered.catalogString)
        case _ =>
      }
  }

  /**
   * The column that event times are read from: a timestamp or date, or a number or string that represents one.
   *
   * @throws MerganserException EVENT_TIME_FIELD_UNUSABLE
   */
  def requireEventTime(schema: StructType, table: String, field: String): StructField = {
    def unusable(reason: String) =
      MerganserException("EVENT_TIME_FIELD_UNUSABLE", "table" -> table, "field" -> field, "reason" -> reason)
    find(exactly(schema, schema.fieldNames.find(_.equalsIgnoreCase(field)).getOrElse(field)), field) match {
      case Some(column) =>
        column.dataType match {
          case TimestampType | TimestampNTZType | DateType | StringType => column
          case LongType | IntegerType | ShortType | ByteType            => column
          case other => throw unusable(s"its type ${other.catalogString} has no time")
        }
      case None =>
        throw unusable(s"it is not among the columns (${MetaColumns.ofUser(schema).fieldNames.mkString(", ")})")
    }
  }

  /** Only the column of exactly this name, so that a dot in the name is not a path. */
  private def exactly(schema: StructType, name: String): StructType = StructType(schema.filter(_.name == name))

  private def refuseKeyType(table: String, role: String, field: String, dataType: DataType): Unit = dataType match {
    case _: ArrayType | _: MapType | _: StructType | BinaryType =>
      throw MerganserException("KEY_TYPE_UNSUPPORTED", "table" -> table, "role" -> role, "field" -> field,
        "type" -> dataType.catalogString)
    case _ =>
  }

  /**
   * The table's schema covers the frame's, and the frame has every column that the table has.
   *
   * A type that widens to the stored one is accepted (the writer casts); nothing else is converted.
   *
   * @param nullForMissing columns that the frame lacks are null, and so are fields that its structs lack
   * @param allowNewColumns the frame may have columns that the table lacks
   * @throws MerganserException COLUMN_MISSING, SCHEMA_CONFLICT
   */
  def requireSchema(
      frame: StructType,
      stored: StructType,
      table: String,
      nullForMissing: Boolean,
      allowNewColumns: Boolean = false
  ): Unit = {
    val incoming = MetaColumns.ofUser(frame)
    val own      = MetaColumns.ofUser(stored)
    if (!nullForMissing) missing("", own, incoming).foreach { case (column, dataType, columns) =>
      throw columnMissing(table, column, dataType, columns)
    }
    for (field <- incoming) own.find(_.name.equalsIgnoreCase(field.name)) match {
      case Some(column) if fits(field.dataType, column.dataType) =>
      case Some(column) =>
        throw conflict(table,
          s"column '${field.name}' is ${field.dataType.catalogString}, the table has ${column.dataType.catalogString}")
      case None if allowNewColumns => ()
      case None =>
        throw conflict(table, s"column '${field.name}' (${field.dataType.catalogString}) is not a column of the table")
    }
  }

  /**
   * A field that a struct of the rows lacks has no stored value where the rows have the struct: it is null, or the rows
   * leave out the whole column.
   */
  private def columnMissing(table: String, column: String, dataType: DataType, columns: Seq[String]) = {
    val isNested = column.contains('.')
    val whole    = column.takeWhile(_ != '.')
    val keep =
      if (isNested) s"leave out column '$whole' and set it to keep (an upsert keeps the stored value)"
      else "keep (an upsert keeps the stored values)"
    val nulls = "null (null is written, like hoodie.write.set.null.for.missing.columns=true)"
    MerganserException("COLUMN_MISSING", "table" -> table, "column" -> column, "type" -> dataType.catalogString,
      "columns" -> columns.mkString(", "),
      "remedy" -> (if (isNested) s"$nulls, or $keep" else s"$keep or to $nulls"))
  }

  /**
   * Refuses structs that lack fields.
   *
   * @throws MerganserException COLUMN_MISSING
   */
  def requireWholeStructs(frame: StructType, stored: StructType, table: String): Unit =
    stored.iterator
      .flatMap(f => find(frame, f.name).iterator.flatMap(g => missing(f.name, f.dataType, g.dataType)))
      .take(1).foreach { case (column, dataType, columns) => throw columnMissing(table, column, dataType, columns) }

  /** The first column or nested field missing in `incoming`, and the fields that are present at its level. */
  private def missing(path: String, wanted: DataType, incoming: DataType): Option[(String, DataType, Seq[String])] =
    (wanted, incoming) match {
      case (w: StructType, g: StructType) =>
        w.iterator.map { field =>
          val name = if (path.isEmpty) field.name else s"$path.${field.name}"
          find(g, field.name).fold(Option((name, field.dataType, g.fieldNames.toSeq)))(f =>
            missing(name, field.dataType, f.dataType))
        }.collectFirst { case Some(found) => found }
      case (w: ArrayType, g: ArrayType) => missing(s"$path.element", w.elementType, g.elementType)
      case (w: MapType, g: MapType)     => missing(s"$path.value", w.valueType, g.valueType)
      case _                            => None
    }

  /**
   * The table's columns, made nullable wherever the frame's are or the frame lacks them. Existing files are unchanged.
   */
  def withNullsOf(frame: StructType, stored: StructType): StructType = StructType(stored.map { field =>
    find(frame, field.name) match {
      case Some(other) =>
        val nullable = field.nullable || other.nullable
        val column   = field.copy(dataType = nullableAs(other.dataType, field.dataType), nullable = nullable)
        if (nullable) ColumnDefault.remove(column) else column
      case None => ColumnDefault.remove(field.copy(nullable = true))
    }
  })

  private def nullableAs(incoming: DataType, stored: DataType): DataType = (incoming, stored) match {
    case (a: StructType, b: StructType) => withNullsOf(a, b)
    case (a: ArrayType, b: ArrayType) =>
      ArrayType(nullableAs(a.elementType, b.elementType), a.containsNull || b.containsNull)
    case (a: MapType, b: MapType) =>
      MapType(b.keyType, nullableAs(a.valueType, b.valueType), a.valueContainsNull || b.valueContainsNull)
    case _ => stored
  }

  private def conflict(table: String, reason: String) =
    MerganserException("SCHEMA_CONFLICT", "table" -> table, "reason" -> reason)

  /**
   * Whether every value of `from` is or widens to a value of `to`; nullability and missing fields are not checked. Char
   * and varchar columns arrive as string or as themselves, and are stored as string.
   */
  private[table] def fits(from: DataType, to: DataType): Boolean = (from, to) match {
    case (a: StructType, b: StructType) =>
      a.forall(f => b.exists(g => g.name.equalsIgnoreCase(f.name) && fits(f.dataType, g.dataType)))
    case (a: ArrayType, b: ArrayType) => fits(a.elementType, b.elementType)
    case (a: MapType, b: MapType)     => fits(a.keyType, b.keyType) && fits(a.valueType, b.valueType)
    case (ByteType, ShortType | IntegerType | LongType) | (ShortType, IntegerType | LongType) | (IntegerType,
          LongType) => true
    // The table stores byte and short as int: a schema read back from it has int.
    case (FloatType, DoubleType)          => true
    case (a: DecimalType, b: DecimalType) => a.scale <= b.scale && a.precision - a.scale <= b.precision - b.scale
    case (NullType, _)                    => true
    case (a, b)                           => a == b || (isString(a) && isString(b)) || Widening.isPromotion(a, b)
  }
}
