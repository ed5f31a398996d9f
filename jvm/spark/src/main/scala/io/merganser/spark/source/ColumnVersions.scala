package io.merganser.spark.source

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.options.{Options, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.PayloadClasses
import io.merganser.table.schema.{InternalSchema, SchemaHistory}
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.connector.catalog.TableChange.{ColumnChange, DeleteColumn, RenameColumn}
import org.apache.spark.sql.types._

/**
 * Changes of the columns of a table that has versions of them (schema on read), or gets the first ones by
 * `hoodie.schema.on.read.enable=true`.
 */
private[source] object ColumnVersions {

  /** Remedy for a change that needs versions. */
  val Setting: String = s"Set ${Options.SchemaOnRead.key}=true, in the session or as a property of the table"

  /**
   * Whether the changes make a new version of the columns.
   *
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED for a change that needs versions, without the setting
   */
  def areKept(table: OpenTable, sessionConf: Map[String, String], changes: Seq[TableChange]): Boolean = {
    val kept = table.timeline.history.isDefined ||
      Settings.ofWrite(Map.empty, sessionConf).bool(Options.SchemaOnRead, table.config.properties)
    if (!kept) changes.foreach {
      case c: RenameColumn => throw ColumnChanges.refused(table.config.name, c.fieldNames,
          s"stored files contain its values under this name, not under '${c.newName}'",
          s"$Setting, which finds them by the column's id, or make a new table with CREATE TABLE … AS SELECT")
      case c: DeleteColumn => throw ColumnChanges.refused(table.config.name, c.fieldNames,
          "stored files keep its values, which a column of that name would bring back",
          s"$Setting, which gives columns ids, or make a new table with CREATE TABLE … AS SELECT")
      case _ => ()
    }
    kept
  }

  /**
   * The version of the columns after the changes, not yet numbered; None if they change nothing.
   *
   * @throws MerganserException COLUMN_CHANGE_UNSUPPORTED
   */
  def after(table: OpenTable, changes: Seq[TableChange]): Option[InternalSchema] = {
    val (config, columns) = (table.config, table.schema)
    changes.foreach(requireUnused(config, _))
    // Other engines' writes without the setting add columns without a new version.
    val first = table.timeline.history.fold(InternalSchema.initial(columns)) { history =>
      history.newest.evolved(columns, history.newest.version, isExact = false)
    }
    val (after, version) = changes.foldLeft((columns, first)) { case ((now, version), change) =>
      val next = AvroSchemas.stored(new ColumnChanges(config.name, config.partitionFields).applied(now, Seq(change)))
      val named = change match {
        case rename: RenameColumn => version.renamed(rename.fieldNames.toSeq, rename.newName)
        case drop: DeleteColumn   => version.without(drop.fieldNames.toSeq)
        case _                    => version
      }
      (next, named.evolved(next, named.version, isExact = true))
    }
    requireReadable(config, after)
    if (after == columns && version.columns == first.columns) None else Some(version)
  }

  /** The version with the number of its commit. */
  def numbered(version: InternalSchema, instant: String): InternalSchema =
    version.copy(version = SchemaHistory.number(instant))

  /** Refuses to rename or drop a column that finds, places or merges rows. */
  private def requireUnused(config: TableConfig, change: TableChange): Unit = change match {
    case c: ColumnChange if c.isInstanceOf[RenameColumn] || c.isInstanceOf[DeleteColumn] =>
      val column = c.fieldNames.mkString(".").toLowerCase(java.util.Locale.ROOT)
      roles(config).find { case (_, field) =>
        val used = field.toLowerCase(java.util.Locale.ROOT)
        used == column || used.startsWith(s"$column.")
      }.foreach { case (role, field) =>
        val act = if (c.isInstanceOf[RenameColumn]) "renamed" else "dropped"
        throw ColumnChanges.refused(config.name, c.fieldNames,
          s"'$field' is a $role column of the table, which cannot be $act: its properties name it, and stored rows " +
            "depend on it", "Make a new table with CREATE TABLE … AS SELECT")
      }
    case _ => ()
  }

  private def roles(config: TableConfig): Seq[(String, String)] =
    config.recordKeyFields.map("record key" -> _) ++ config.partitionFields.map("partition" -> _) ++
      config.orderingFields.map("ordering" -> _) ++
      (PayloadClasses.markers(config).map(_.field) :+ "_hoodie_is_deleted").map("delete marker" -> _)

  /** Hudi's readers fail on versions with a timestamp_ntz column, whatever columns a query requests. */
  private def requireReadable(config: TableConfig, columns: StructType): Unit = {
    def inside(path: Seq[String], dataType: DataType): Option[Seq[String]] = dataType match {
      case TimestampNTZType => Some(path)
      case s: StructType    => s.flatMap(f => inside(path :+ f.name, f.dataType).toSeq).headOption
      case a: ArrayType     => inside(path :+ "element", a.elementType)
      case m: MapType       => inside(path :+ "value", m.valueType)
      case _                => None
    }
    inside(Nil, columns).foreach { path =>
      throw ColumnChanges.refused(config.name, path.toArray,
        "it is a timestamp_ntz column, and Hudi fails to read a table that has versions of such a column",
        s"Change columns with ${Options.SchemaOnRead.key}=false, or make a new table with CREATE TABLE … AS SELECT")
    }
  }
}
