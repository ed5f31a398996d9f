package io.merganser.spark.source

import io.merganser.merge.{DeleteCheck, MerganserException}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.{Registration, ServiceScope}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.TableCommit
import io.merganser.table.avro.{AvroSchemas, Retyping, Widening}
import io.merganser.table.commit.{CommitRequest, Transaction, Work}
import io.merganser.table.options.WriteSource
import io.merganser.table.schema.{
  ColumnOrder,
  FrameCheck,
  InternalSchema,
  InternalSchemaJson,
  MetaColumns,
  SchemaEvolution
}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.timeline.{Action, CommitMetadata, OperationType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange._
import org.apache.spark.sql.merganser.{CatalogBridge, SparkBridge}
import org.apache.spark.sql.types._

/**
 * ALTER TABLE on columns. The change is a separate commit without rows: files stay as they are. They are read by column
 * name, with nulls for columns they lack and narrower types widened; by ids in a table with [[ColumnVersions]].
 */
object AlterColumns {

  /**
   * Changes the columns of a table and of its entry in the session catalog.
   *
   * @param changes those of anything but columns are ignored
   * @return as of [[run]]
   */
  def ofCatalog(session: SparkSession, entry: CatalogTable, changes: Seq[TableChange]): () => Unit = {
    val path     = entry.location.toString
    val declared = CatalogBridge.columns(entry)
    val table    = OpenTable.load(session, path)
    val seen     = DeclaredColumns.over(table.schema, declared)
    val register = run(session, path, changes)
    // An entry without columns takes them from the table's folder.
    if (declared.nonEmpty) {
      val columns = applied(entry.identifier.unquotedString, seen, changes, table.config.partitionFields)
      // Spark refuses columns without one that the entry has.
      if (changes.exists(c => c.isInstanceOf[RenameColumn] || c.isInstanceOf[DeleteColumn]))
        CatalogBridge.replaceColumns(session, entry.identifier, columns)
      else CatalogBridge.alterColumns(session, entry.identifier, columns)
    }
    SparkBridge.refreshCached(session, entry.identifier)
    register
  }

  /**
   * Changes the columns of the table at a path, in one commit.
   *
   * @param changes those of anything but columns are ignored
   * @return registers the table in a Hive metastore, if that is configured: to be called last, since its failure, which
   *         is WRITE_COMMITTED_SYNC_FAILED, leaves the change committed
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED, SCHEMA_CONFLICT, UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME,
   *                            DELETE_FLAG_NOT_BOOLEAN, COMMIT_CONFLICT; nothing is changed then
   */
  def run(session: SparkSession, path: String, changes: Seq[TableChange]): () => Unit = {
    val table       = OpenTable.load(session, path)
    val hasVersions = ColumnVersions.areKept(table, FrameWrite.sessionConf(session), changes)
    val partitions  = table.config.partitionFields
    val changed     = AvroSchemas.stored(applied(table.config.name, table.schema, changes, partitions, hasVersions))
    AvroSchemas.checkColumns(changed)
    FrameCheck.requireDeleteFlag(changed, table.schema, table.config.name, "alter")
    SchemaEvolution.requireStable(table.config, table.schema, changed)
    val version = if (hasVersions) ColumnVersions.after(table, changes) else None
    if (changed == table.schema && version.isEmpty) () => ()
    else {
      val settings = WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), table.config, WriteSource.SqlChange)
      val instant  = commit(table, settings, changed, version)
      () => Registration.after(ServiceScope(session, table, settings), instant)
    }
  }

  /** Names a new column that marks deletes as readers look for it, in whichever case it was written. */
  private[source] def withFlagSpelled(change: TableChange): TableChange = change match {
    case add: AddColumn if add.fieldNames.length == 1 && isFlag(add.fieldNames.head) =>
      TableChange.addColumn(Array(DeleteCheck.FlagColumn), add.dataType, add.isNullable, add.comment, add.position,
        add.defaultValue)
    case rename: RenameColumn if rename.fieldNames.length == 1 && isFlag(rename.newName) =>
      TableChange.renameColumn(rename.fieldNames, DeleteCheck.FlagColumn)
    case other => other
  }

  private def isFlag(column: String): Boolean = column.equalsIgnoreCase(DeleteCheck.FlagColumn)

  private def commit(
      table: OpenTable,
      settings: WriteConfig,
      columns: StructType,
      version: Option[InternalSchema]
  ): String = {
    val (storage, config) = (table.storage, table.config)
    val options           = Transaction.Options.of(settings)
    val action            = if (config.isMergeOnRead) Action.DeltaCommit else Action.Commit
    Transaction.run(storage, config, action, options) { transaction =>
      if (transaction.timeline.tableSchemaJson != table.timeline.tableSchemaJson)
        throw MerganserException("COMMIT_CONFLICT", "instant" -> transaction.instant, "path" -> storage,
          "reason" -> "another writer changed the table's columns at the same time")
      val versions = version.map { v =>
        CommitMetadata.LatestSchemaKey -> InternalSchemaJson.of(ColumnVersions.numbered(v, transaction.instant))
      }
      val metadata = TableCommit.metadata(OperationType.AlterSchema, table, columns, Nil, None,
        extra = transaction.timeline.listAdded(table.forCommit(columns)) ++ versions)
      Work(transaction.instant, Some(CommitRequest(metadata, touched = Set.empty)))
    }
  }

  /**
   * @param partitions partition fields of the table: a column without a position is added before them where they are
   *                   the last columns
   * @param isRetyped whether the type changes of [[Retyping]] are allowed too
   * @return the columns after the changes, applied in order
   */
  private[source] def applied(
      table: String,
      columns: StructType,
      changes: Seq[TableChange],
      partitions: Seq[String],
      isRetyped: Boolean = true
  ): StructType =
    changes.foldLeft(columns) {
      case (now, add: AddColumn) =>
        val last = if (add.fieldNames.length == 1) partitions else Nil
        at(table, now, add.fieldNames.dropRight(1).toSeq, add.fieldNames)(inserted(table, _, column(table, add),
            add.fieldNames, Option(add.position), last))
      case (now, change: UpdateColumnPosition) =>
        at(table, now, change.fieldNames.dropRight(1).toSeq, change.fieldNames) { fields =>
          val moved = one(table, fields, change.fieldNames)
          inserted(table, StructType(fields.filterNot(_ eq moved)), moved, change.fieldNames, Option(change.position),
            Nil)
        }
      case (now, rename: RenameColumn) =>
        at(table, now, rename.fieldNames.dropRight(1).toSeq, rename.fieldNames) { fields =>
          val renamed = one(table, fields, rename.fieldNames)
          requireNew(table, StructType(fields.filterNot(_ eq renamed)), rename.newName, rename.fieldNames)
          StructType(fields.map(f => if (f eq renamed) f.copy(name = rename.newName) else f))
        }
      case (now, drop: DeleteColumn) =>
        at(table, now, drop.fieldNames.dropRight(1).toSeq, drop.fieldNames) { fields =>
          val dropped = one(table, fields, drop.fieldNames)
          if (fields.length == 1)
            throw refused(table, drop.fieldNames, "nothing would be left around it", "Drop what contains it")
          StructType(fields.filterNot(_ eq dropped))
        }
      case (now, change: ColumnChange) =>
        updated(table, now, change.fieldNames)(changed(table, change, _, isRetyped))
      case (now, _) => now
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

  private def changed(
      table: String,
      change: ColumnChange,
      field: StructField,
      isRetyped: Boolean
  ): StructField = change match {
    case c: UpdateColumnType =>
      val (was, is) = (storedType(field.dataType), storedType(c.newDataType))
      if (was != is && !Widening.isPromotion(was, is) && !(isRetyped && isRetyping(was, is)))
        throw refused(table, c.fieldNames,
          s"stored values of ${field.dataType.catalogString} do not widen to ${c.newDataType.catalogString}",
          if (isRetyping(was, is)) s"${ColumnVersions.Setting}: files are then read by the column's id and new type"
          else "Add another column, and UPDATE it from this one")
      field.copy(dataType = c.newDataType)
    case c: UpdateColumnNullability =>
      if (field.nullable && !c.nullable)
        throw refused(table, c.fieldNames, "stored rows may have null there", "Leave it nullable")
      field.copy(nullable = c.nullable)
    case c: UpdateColumnComment =>
      val others = new MetadataBuilder().withMetadata(field.metadata).remove("comment").build()
      Option(c.newComment).filter(_.nonEmpty).foldLeft(field.copy(metadata = others))(_ withComment _)
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
      position: Option[ColumnPosition],
      partitions: Seq[String]
  ): StructType = {
    requireNew(table, fields, field.name, names)
    position match {
      case Some(_: First) => StructType(field +: fields)
      case Some(p: After) =>
        val before = fields.indexWhere(_.name.equalsIgnoreCase(p.column))
        if (before < 0)
          throw refused(table, names, s"there is no column '${p.column}' to place it after", "Name an existing column")
        StructType((fields.take(before + 1) :+ field) ++ fields.drop(before + 1))
      case _ => ColumnOrder.withAdded(fields, Seq(field), partitions)
    }
  }

  /** @param names the column's, with those of the structs around it */
  private def requireNew(table: String, fields: StructType, name: String, names: Array[String]): Unit = {
    if (fields.exists(_.name.equalsIgnoreCase(name)))
      throw refused(table, names, s"a column '$name' exists", "Choose another name")
    if (names.length == 1 && MetaColumns.isReserved(name))
      throw refused(table, names, "columns of that name come from the table itself or from a change stream",
        "Choose another name")
  }

  /** As Hudi does where a table has versions of its columns. */
  private def isRetyping(was: DataType, is: DataType): Boolean =
    Retyping.isAllowed(was, is) || (was == BinaryType && is == StringType)

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

  private[source] def refused(table: String, names: Array[String], reason: String, remedy: String): MerganserException =
    MerganserException("COLUMN_CHANGE_UNSUPPORTED", "table" -> table, "column" -> names.mkString("."),
      "reason" -> reason,
      "remedy" -> remedy)
}
