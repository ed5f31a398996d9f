package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.TableWrite
import io.merganser.table.avro.{AvroSchemas, Widening}
import io.merganser.table.commit.{CommitRequest, Transaction, Work}
import io.merganser.table.options.WriteSource
import io.merganser.table.schema.SchemaEvolution
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.merganser.{CatalogBridge, SparkBridge}
import org.apache.spark.sql.types._

/**
 * ALTER TABLE on columns. The change is a separate commit without rows: files stay as they are and are read by column
 * name, with nulls for columns they lack and narrower types widened.
 */
object AlterColumns {

  /**
   * Changes the columns of a table and of its entry in the session catalog.
   *
   * @param changes those of anything but columns are ignored
   */
  def ofCatalog(session: SparkSession, entry: CatalogTable, changes: Seq[TableChange]): Unit = {
    val path     = entry.location.toString
    val declared = CatalogBridge.columns(entry)
    val seen     = DeclaredColumns.over(OpenTable.load(session, path).schema, declared)
    run(session, path, changes)
    // An entry without columns takes them from the table's folder.
    if (declared.nonEmpty)
      CatalogBridge.alterColumns(session, entry.identifier, applied(entry.identifier.unquotedString, seen, changes))
    SparkBridge.refreshCached(session, entry.identifier)
  }

  /**
   * Changes the columns of the table at a path, in one commit.
   *
   * @param changes those of anything but columns are ignored
   * @return the table's columns after the change
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED, SCHEMA_CONFLICT, UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME,
   *                            COMMIT_CONFLICT; nothing is changed then
   */
  def run(session: SparkSession, path: String, changes: Seq[TableChange]): StructType = {
    val table   = OpenTable.load(session, path)
    val changed = AvroSchemas.stored(applied(table.config.name, table.schema, changes))
    AvroSchemas.checkColumns(changed)
    SchemaEvolution.requireStable(table.config, table.schema, changed)
    if (changed != table.schema) commit(session, table, changed)
    changed
  }

  private def commit(session: SparkSession, table: OpenTable, columns: StructType): Unit = {
    val (storage, config) = (table.storage, table.config)
    val settings          = WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), config, WriteSource.SqlChange)
    val options           = Transaction.Options.of(settings)
    val action            = if (config.isMergeOnRead) Action.DeltaCommit else Action.Commit
    Transaction.run(storage, config, action, options) { transaction =>
      if (transaction.timeline.tableSchemaJson != table.timeline.tableSchemaJson)
        throw MerganserException("COMMIT_CONFLICT", "instant" -> transaction.instant, "path" -> storage,
          "reason" -> "another writer changed the table's columns at the same time")
      val schema = AvroSchemas.toAvro(columns, config.name).toString
      val extra =
        Map("schema" -> schema, TableWrite.WriterKey -> TableWrite.Writer) ++ transaction.timeline.listAdded(columns)
      Work((), Some(CommitRequest(CommitMetadata(OperationType.AlterSchema, Map.empty, extra), touched = Set.empty)))
    }
  }

  /** @return the columns after the changes, applied in order */
  private[source] def applied(table: String, columns: StructType, changes: Seq[TableChange]): StructType =
    changes.foldLeft(columns) {
      case (now, add: AddColumn) =>
        at(table, now, add.fieldNames.dropRight(1).toSeq, add.fieldNames)(inserted(table, _, column(table, add),
            add.fieldNames,
            Option(add.position)))
      case (now, change: UpdateColumnPosition) =>
        at(table, now, change.fieldNames.dropRight(1).toSeq, change.fieldNames) { fields =>
          val moved = one(table, fields, change.fieldNames)
          inserted(table, StructType(fields.filterNot(_ eq moved)), moved, change.fieldNames, Option(change.position))
        }
      case (now, change: ColumnChange) => updated(table, now, change.fieldNames)(changed(table, change, _))
      case (now, _)                    => now
    }

  private def column(table: String, add: AddColumn): StructField = {
    if (add.defaultValue != null)
      throw refused(table, add.fieldNames, "a default value would not apply to stored rows",
        "Add the column without it, and UPDATE the rows")
    if (!add.isNullable)
      throw refused(table, add.fieldNames, "stored rows have null there", "Add it without NOT NULL")
    val field = StructField(add.fieldNames.last, add.dataType)
    Option(add.comment).fold(field)(field.withComment)
  }

  private def changed(table: String, change: ColumnChange, field: StructField): StructField = change match {
    case c: UpdateColumnType =>
      val (was, is) = (storedType(field.dataType), storedType(c.newDataType))
      if (was != is && !Widening.isPromotion(was, is))
        throw refused(table, c.fieldNames,
          s"stored values of ${field.dataType.catalogString} do not widen to ${c.newDataType.catalogString}",
          "Add another column, and UPDATE it from this one")
      field.copy(dataType = c.newDataType)
    case c: UpdateColumnNullability =>
      if (field.nullable && !c.nullable)
        throw refused(table, c.fieldNames, "stored rows may have null there", "Leave it nullable")
      field.copy(nullable = c.nullable)
    case c: UpdateColumnComment =>
      val others = new MetadataBuilder().withMetadata(field.metadata).remove("comment").build()
      Option(c.newComment).filter(_.nonEmpty).foldLeft(field.copy(metadata = others))(_ withComment _)
    case c: RenameColumn => throw refused(table, c.fieldNames,
        s"stored files have its values under this name, not under '${c.newName}'",
        "Add a column of the new name and UPDATE it from this one, or make a new table with CREATE TABLE … AS SELECT")
    case c: DeleteColumn => throw refused(table, c.fieldNames,
        "stored files keep its values, which a column of that name would bring back",
        "Leave it out of queries, set it to null, or make a new table with CREATE TABLE … AS SELECT")
    case c: UpdateColumnDefaultValue =>
      throw refused(table, c.fieldNames, "the table's format stores no default values",
        "Give the value when rows are written")
    case c =>
      throw refused(table, c.fieldNames, s"${c.getClass.getSimpleName} is not supported",
        "Make a new table with CREATE TABLE … AS SELECT")
  }

  private def storedType(dataType: DataType): DataType =
    AvroSchemas.stored(StructType(Seq(StructField("c", dataType)))).head.dataType

  private def inserted(
      table: String,
      fields: StructType,
      field: StructField,
      names: Array[String],
      position: Option[ColumnPosition]
  ): StructType = {
    if (fields.exists(_.name.equalsIgnoreCase(field.name)))
      throw refused(table, names, "a column of this name exists", "Choose another name")
    position match {
      case Some(_: First) => StructType(field +: fields)
      case Some(p: After) =>
        val before = fields.indexWhere(_.name.equalsIgnoreCase(p.column))
        if (before < 0)
          throw refused(table, names, s"there is no column '${p.column}' to place it after", "Name an existing column")
        StructType((fields.take(before + 1) :+ field) ++ fields.drop(before + 1))
      case _ => StructType(fields :+ field)
    }
  }

  /** Changes one field by its path. */
  private def updated(
      table: String,
      columns: StructType,
      names: Array[String]
  )(change: StructField => StructField): StructType =
    at(table, columns, names.dropRight(1).toSeq, names, Some(change)) { fields =>
      val field = one(table, fields, names)
      StructType(fields.map(f => if (f eq field) change(f) else f))
    }

  private def one(table: String, fields: StructType, names: Array[String]): StructField =
    fields.find(_.name == names.last).orElse(fields.find(_.name.equalsIgnoreCase(names.last)))
      .getOrElse(throw refused(table, names, "there is no such column", "Correct the name"))

  /**
   * Changes the fields of the struct at a path. Elements of arrays and values of maps are steps of a path, named
   * `element` and `value`.
   *
   * @param leaf change of the element or value that the path ends with
   */
  private def at(
      table: String,
      columns: StructType,
      path: Seq[String],
      names: Array[String],
      leaf: Option[StructField => StructField] = None
  )(
      change: StructType => StructType
  ): StructType = {
    def within(dataType: DataType, rest: Seq[String]): DataType = (dataType, rest) match {
      case (s: StructType, Seq()) => change(s)
      case (s: StructType, Seq(name, more @ _*)) =>
        val field = one(table, s, names.take(names.length - 1 - more.length))
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
      case _ => throw refused(table, names, "there is no such column", "Correct the name")
    }
    within(columns, path).asInstanceOf[StructType]
  }

  private def refused(table: String, names: Array[String], reason: String, remedy: String): MerganserException =
    MerganserException("COLUMN_CHANGE_UNSUPPORTED", "table" -> table, "column" -> names.mkString("."),
      "reason" -> reason,
      "remedy" -> remedy)
}
