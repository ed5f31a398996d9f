package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.service.RuleService
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.commit.PropertiesUpdate
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.RuleChange
import io.merganser.table.settings.{AlteredSettings, TableAccess, WriteConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog, TableChange}
import org.apache.spark.sql.connector.catalog.TableChange.{ColumnChange, RemoveProperty, SetProperty}

/**
 * ALTER TABLE on properties, columns, comments and names.
 *
 * Settings of writes become the table's defaults. Its rows and files depend on the settings that it was created with;
 * no statement changes these.
 */
object TableAlteration {

  /** Properties that define location and format of a table. */
  private val Fixed = Set(TableCatalog.PROP_LOCATION, TableCatalog.PROP_PROVIDER, TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_IS_MANAGED_LOCATION)

  /**
   * Changes a table of Spark's session catalog.
   *
   * @throws MerganserException PROPERTY_FIXED, UNKNOWN_OPTION, OPTION_VALUE_INVALID, what [[PropertiesUpdate.run]]
   *                            throws; nothing is changed then
   */
  def ofSession(session: SparkSession, entry: CatalogTable, requested: Seq[TableChange]): Unit = {
    val label   = entry.identifier.unquotedString
    val changes = effective(requested)
    settle(session, CatalogTables.path(entry), label, changes)
    val register =
      if (changes.exists(_.isInstanceOf[ColumnChange])) AlterColumns.ofCatalog(session, entry, changes) else () => ()
    val comment =
      edited(entry.comment.map(TableCatalog.PROP_COMMENT -> _).toMap, changes, _ == TableCatalog.PROP_COMMENT)
    val owner = edited(Map(TableCatalog.PROP_OWNER -> entry.owner), changes, _ == TableCatalog.PROP_OWNER)
    val rest =
      edited(entry.properties, changes, key => key != TableCatalog.PROP_COMMENT && key != TableCatalog.PROP_OWNER)
    if (changes.exists(!_.isInstanceOf[ColumnChange])) {
      session.sessionState.catalog.alterTable(entry.copy(properties = withoutRule(rest, changes),
          comment = comment.get(TableCatalog.PROP_COMMENT),
          owner = owner.getOrElse(TableCatalog.PROP_OWNER, entry.owner)))
    }
    register()
  }

  /** Changes a table of a catalog of folders, or one that is named by its path. */
  def ofFolder(session: SparkSession, path: String, label: String, requested: Seq[TableChange]): Unit = {
    val changes = effective(requested)
    settle(session, path, label, changes)
    var register = () => ()
    if (changes.exists(_.isInstanceOf[ColumnChange])) {
      val table = OpenTable.load(session, path)
      register = AlterColumns.run(session, path, changes)
      updateEntry(session, path) { entry =>
        val edit = new ColumnChanges(label, table.config.partitionFields)
        entry.copy(columns =
          entry.columns.map(declared => edit.applied(DeclaredColumns.over(table.schema, declared), changes)))
      }
    }
    if (changes.exists(!_.isInstanceOf[ColumnChange]))
      updateEntry(session, path)(entry =>
        entry.copy(properties = withoutRule(edited(entry.properties, changes, _ => true), changes)))
    register()
  }

  /**
   * Renames a table, in its own properties and by `move` in its catalog. If one of them fails, the other is undone.
   *
   * @param path location of the table before the move
   */
  def rename(session: SparkSession, path: String, to: Identifier)(move: => Unit): Unit = {
    WriteConfig.requireNoDryRun("rename", path, FrameWrite.sessionConf(session))
    val names  = Seq(Options.TableName.key, Options.Database.key)
    val before = OpenTable.load(session, path).config.properties.filter { case (key, _) => names.contains(key) }
    val after = before + (Options.TableName.key -> to.name) ++
      to.namespace.lastOption.filter(_ => before.contains(Options.Database.key)).map(Options.Database.key -> _)
    update(session, path)(_ -- names ++ after)
    try move
    catch {
      case e: Throwable =>
        try update(session, path)(_ -- names ++ before)
        catch { case second: Throwable => e.addSuppressed(second) }
        throw e
    }
  }

  /**
   * Changes a table's own properties under the lock that session and table configure.
   *
   * @throws MerganserException what [[PropertiesUpdate.run]] and [[TableAccess.of]] throw
   */
  private[source] def update(
      session: SparkSession,
      path: String
  )(change: Map[String, String] => Map[String, String]): Unit = {
    val storage = OpenTable.storage(session, path)
    PropertiesUpdate.run(storage, change, TableAccess.of(FrameWrite.sessionConf(session), TableConfig.load(storage)))
    ()
  }

  /** Changes what a table stores for its catalog. */
  private[source] def updateEntry(session: SparkSession, path: String)(change: FolderEntry => FolderEntry): Unit =
    update(session, path)(old => FolderEntry.without(old) ++ change(FolderEntry.of(TableConfig(old))).stored)

  /** The changes to make: without the format that the table has, and with the name of a column that marks deletes. */
  private def effective(requested: Seq[TableChange]): Seq[TableChange] =
    requested.filterNot(isOfFormat).map(AlterColumns.withFlagSpelled)

  /** Whether it sets the format to the one that the table has, as each run of a declarative pipeline does. */
  private def isOfFormat(change: TableChange): Boolean = change match {
    case set: SetProperty => set.property == TableCatalog.PROP_PROVIDER && CatalogTables.isOurs(Some(set.value))
    case _                => false
  }

  private def edited(
      properties: Map[String, String],
      changes: Seq[TableChange],
      concerns: String => Boolean
  ): Map[String, String] =
    changes.foldLeft(properties) {
      case (now, set: SetProperty) if concerns(set.property)            => now + (set.property -> set.value)
      case (now, removed: RemoveProperty) if concerns(removed.property) => now - removed.property
      case (now, _)                                                     => now
    }

  /** The table itself has its rule; what the entry has of one is that of before. */
  private def withoutRule(properties: Map[String, String], changes: Seq[TableChange]): Map[String, String] =
    if (changes.exists(isOfRule)) properties.filterNot { case (key, _) => RuleChange.isOfRule(key) }
    else properties

  private def isOfRule(change: TableChange): Boolean = change match {
    case set: SetProperty        => RuleChange.isOfRule(set.property)
    case removed: RemoveProperty => RuleChange.isOfRule(removed.property)
    case _                       => false
  }

  /** Writes settings among the properties to the table itself. */
  private def settle(session: SparkSession, path: String, label: String, changes: Seq[TableChange]): Unit = {
    val config          = OpenTable.load(session, path).config
    val (ofRule, other) = changes.partition(isOfRule)
    WriteConfig.requireNoDryRun("alter", label, FrameWrite.sessionConf(session))
    val edits = other.flatMap {
      case set: SetProperty => edit(label, config, set.property, Some(set.value))
      case removed: RemoveProperty =>
        try edit(label, config, removed.property, None)
        catch { case e: MerganserException if e.condition == "UNKNOWN_OPTION" => Nil } // there is none to remove
      case _: ColumnChange => Nil
      case other =>
        throw fixed(label, other.getClass.getSimpleName, "", "it is not a change of properties, comments or columns")
    }
    if (ofRule.nonEmpty)
      RuleService.change(session, path, ofRule.collect { case set: SetProperty => set.property -> set.value }.toMap,
        ofRule.collect { case removed: RemoveProperty => removed.property }.toSet)
    if (edits.nonEmpty) update(session, path)(old => edits.foldLeft(old)((now, change) => change(now)))
  }

  private def edit(
      label: String,
      config: TableConfig,
      key: String,
      value: Option[String]
  ): Seq[Map[String, String] => Map[String, String]] =
    if (Fixed(key)) throw fixed(label, key, value.getOrElse("nothing"), "it defines location or format of the table")
    else if (key == TableCatalog.PROP_COMMENT || key == TableCatalog.PROP_OWNER) Nil
    else AlteredSettings.edit(label, config, key, value).toSeq

  private def fixed(table: String, key: String, value: String, reason: String): MerganserException =
    MerganserException("PROPERTY_FIXED", "table" -> table, "key" -> key, "value" -> value, "reason" -> reason)
}
