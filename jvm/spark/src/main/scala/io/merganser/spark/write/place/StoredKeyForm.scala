package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.{KeyColumns, KeyForm}
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.file.FileNames
import io.merganser.table.options.{OptionEntry, Options, StoredKeyPolicy, WriteOperation}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.FrameCheck
import io.merganser.table.settings.{KeyGenerator, WriteConfig}
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.TimestampType

import java.io.FileNotFoundException

/**
 * The form of a table's stored keys and paths, where its properties leave it open: Hudi's writers choose it by an
 * option that no table stores, and with another form a key would be stored a second time. One footer of a base file
 * shows it.
 */
object StoredKeyForm {

  /** Commits that are searched for a base file. */
  private val Searched = 20

  /**
   * The settings with the form of the stored keys and paths.
   *
   * @throws MerganserException CONFIG_CONFLICT if an option requests another form
   */
  def settled(settings: WriteConfig, table: OpenTable): WriteConfig = {
    val (key, found) = byStoredKey(settings, table)
    for ((name, stored) <- found; requested <- settings.keyForm.get(name) if requested != stored)
      throw MerganserException("CONFIG_CONFLICT", "key" -> name, "value" -> requested, "stored" -> stored,
        "by" -> s"by its stored key '$key', table '${table.config.name}' has")
    StoredPathForm.settled(settings.copy(keyForm = settings.keyForm ++ found), table)
  }

  /** The same for a write that replaces all rows: options may request another form. */
  def settledUnlessSet(settings: WriteConfig, table: OpenTable): WriteConfig = {
    val (_, found) = byStoredKey(settings, table)
    StoredPathForm.settled(settings.copy(keyForm = found ++ settings.keyForm), table)
  }

  /** A stored key, and the values of the options with which it was made; none of those that it does not show. */
  private def byStoredKey(settings: WriteConfig, table: OpenTable): (String, Map[String, String]) = {
    val open = undecided(table)
    val key  = if (open.isEmpty) None else newestKey(table, settings)
    val found =
      for (text <- key.toSeq; (entry, forms) <- open; form <- forms.of(text)) yield entry.key -> form.toString
    (key.getOrElse(""), found.toMap)
  }

  /**
   * Refuses a write after which a key or path would be stored in two forms, so that its row would be stored twice.
   *
   * @throws MerganserException KEY_FORMS_MIXED, KEYS_WITHOUT_NAME, KEY_IN_OTHER_ZONE, and what
   *                            [[StoredPathForm.requireOne]] throws
   */
  private[write] def requireOne(session: SparkSession, settings: WriteConfig, table: OpenTable): Unit = {
    // Keys with timestamps are sorted as strings, so only all of them show whether there are two forms.
    for ((Options.LogicalTimestamp, forms) <- undecided(table) if table.config.storesKeys && looksUpKeys(settings))
      requireOneForm(table, KeyScan.of(session, table, settings.rule, forms, table.view.slices),
        "an upsert and a bulk insert of another engine store timestamps in different forms")
    if (table.config.version >= 9 && mayLackNames(table.config) && !settings.access.permits.otherKeyNames) {
      val field = table.config.recordKeyFields.head
      newestKey(table, settings).filter(WithoutName(field).of(_).contains(true)).foreach(key =>
        throw withoutName(table, "write to", key))
    }
    keyOfOtherZone(session, settings, table).foreach { case (key, computed) =>
      throw MerganserException("KEY_IN_OTHER_ZONE", "table" -> table.config.name, "key" -> key,
        "computed" -> computed, "zone" -> java.time.ZoneId.systemDefault)
    }
    StoredPathForm.requireOne(session, settings, table)
  }

  /** A stored key with a timestamp in the time zone of another JVM than this one, and the key that it is here. */
  private def keyOfOtherZone(
      session: SparkSession,
      settings: WriteConfig,
      table: OpenTable
  ): Option[(String, String)] = {
    val keyed = settings.keyed(table.config)
    if (!table.config.storesKeys || !KeyForm.of(keyed).logicalTimestamps || timeFields(table).isEmpty) None
    else for {
      slice  <- table.view.slicesOneByOne(most = 1).take(1).toList.headOption
      stored <- StoredRow.of(settings, table, slice, table.config.recordKeyFields)
      computed = KeyColumns.keyOf(session, keyed, table.schema, stored.schema).eval(stored.row).toString
      if computed != stored.key
    } yield (stored.key, computed)
  }

  /** The settings with each form of keys that writers may have used; none if these have times of an unknown zone. */
  private[spark] def possibleKeys(session: SparkSession, settings: WriteConfig, table: OpenTable): Seq[WriteConfig] =
    if (keyOfOtherZone(session, settings, table).isDefined) Nil
    else undecided(table).map(_._1.key).foldLeft(Seq(settings))((all, key) =>
      all.flatMap(one => Seq("false", "true").map(form => one.copy(keyForm = one.keyForm + (key -> form)))))

  /** The same with each form of paths. */
  private[spark] def possiblePaths(session: SparkSession, settings: WriteConfig, table: OpenTable): Seq[WriteConfig] =
    if (StoredPathForm.isOfOtherZone(session, settings, table)) Nil else StoredPathForm.possible(settings, table)

  /**
   * The same for single keys of which some may lack the name, among those of slices in which a write looks up keys.
   *
   * @throws MerganserException KEY_FORMS_MIXED, KEYS_WITHOUT_NAME
   */
  private[write] def requireOneIn(
      session: SparkSession,
      settings: WriteConfig,
      table: OpenTable,
      slices: => Seq[FileSlice]
  ): Unit =
    if (looksUpKeys(settings) && mayLackNames(table.config) && !settings.access.permits.otherKeyNames) {
      val stored =
        KeyScan.of(session, table, settings.rule, WithoutName(table.config.recordKeyFields.head), slices)
      if (table.config.version >= 9) stored.get(true).foreach(key => throw withoutName(table, "write to", key))
      val reason = "Hudi 0.14.1 to 1.0.2 leave out the name of a single key column"
      requireOneForm(table, stored, reason)
      // The rows of the newest commits may be in other partitions.
      val isNamed = KeyForm.of(settings.keyed(table.config)).namedSingleKey
      for (one <- stored.get(isNamed); other <- newestKey(table, settings))
        throw mixed(table, one, other, reason)
    }

  /**
   * Refuses the upgrade of a table with the COMPLEX generator and one key column to version 9, in which its keys have
   * the column's name, where some have not.
   *
   * @throws MerganserException KEYS_WITHOUT_NAME
   */
  private[spark] def requireUpgradable(session: SparkSession, settings: WriteConfig, table: OpenTable): Unit =
    if (mayLackNames(table.config) && !settings.access.permits.otherKeyNames) {
      val forms = WithoutName(table.config.recordKeyFields.head)
      KeyScan.of(session, table, settings.rule, forms, table.view.slices).get(true).foreach(key =>
        throw withoutName(table, "upgrade", key))
    }

  private def requireOneForm(table: OpenTable, stored: Map[Boolean, String], reason: String): Unit =
    for (one <- stored.get(true); other <- stored.get(false))
      throw mixed(table, one, other, reason)

  private def mixed(table: OpenTable, one: String, other: String, reason: String): MerganserException =
    MerganserException("KEY_FORMS_MIXED", "table" -> table.config.name, "one" -> one, "other" -> other,
      "reason" -> reason)

  private def withoutName(table: OpenTable, what: String, key: String): MerganserException =
    MerganserException("KEYS_WITHOUT_NAME", "what" -> what, "table" -> table.config.name, "key" -> key,
      "expected" -> s"${table.config.recordKeyFields.head}:$key", "encoding" -> Options.ComplexKeyWithoutName.key,
      "validation" -> Options.ComplexKeyValidation.key)

  private def looksUpKeys(settings: WriteConfig): Boolean = settings.operation match {
    case WriteOperation.Upsert | WriteOperation.Delete => true
    case WriteOperation.Insert =>
      settings.storedKeys == StoredKeyPolicy.Drop || settings.storedKeys == StoredKeyPolicy.Fail
    case _ => false
  }

  /** What the table's properties leave open, with how a key shows whether the option was set. */
  private def undecided(table: OpenTable): Seq[(OptionEntry, KeyForms)] = {
    val config                 = table.config
    def isOpen(e: OptionEntry) = !e.names.exists(config.properties.contains)
    val keys                   = config.recordKeyFields
    val times                  = timeFields(table)
    (if (isOpen(Options.LogicalTimestamp) && times.nonEmpty)
       Seq(Options.LogicalTimestamp -> LogicalTimes(keys, times))
     else Nil) ++
      (if (config.version < 9 && isOpen(Options.ComplexKeyWithoutName) && mayLackNames(config))
         Seq(Options.ComplexKeyWithoutName -> WithoutName(keys.head))
       else Nil)
  }

  /** Version 9 alone excludes keys without the name. A table of it may have been of an earlier one. */
  private def mayLackNames(config: TableConfig): Boolean =
    config.storesKeys && config.recordKeyFields.size == 1 && config.keyGeneratorType == KeyGenerator.Complex.name &&
      !config.properties.get(Options.ComplexKeyWithoutName.key).exists(_.trim.equalsIgnoreCase("false")) &&
      !config.properties.get("hoodie.table.initial.version").flatMap(v => scala.util.Try(v.trim.toInt).toOption)
        .exists(_ >= 9)

  private def timeFields(table: OpenTable): Seq[String] =
    table.config.recordKeyFields.filter(f => FrameCheck.find(table.schema, f).exists(_.dataType == TimestampType))

  /** A key of the newest base file that the newest commits name; if they name none, of any; else one of a log. */
  private def newestKey(table: OpenTable, settings: WriteConfig): Option[String] = {
    val newest = table.timeline.completed.reverseIterator.take(Searched)
    val named = table.timeline.metadataOf(newest, most = 1).flatMap(_._2.allStats).filter(stat =>
      stat.path.nonEmpty && !stat.isLogFile && stat.fileSizeInBytes > 0).map(stat =>
      FileNames.path(stat.partitionPath, stat.fileName) -> stat.fileSizeInBytes)
    def slices = table.view.slicesOneByOne(most = 1)
    def others = slices.flatMap(_.base).map(base => base.path -> base.sizeBytes)
    def logged =
      if (!table.config.storesKeys || !table.config.isMergeOnRead) None
      else new KeyScan(table, settings.rule, AnyKey).examples(slices.map(_ -> true)).values.headOption
    (named ++ others).flatMap { case (file, bytes) => keyIn(table, file, bytes) }.take(1).toList.headOption
      .orElse(logged)
  }

  /** None if another engine has removed the file, or stored no keys in its footer. */
  private def keyIn(table: OpenTable, file: String, bytes: Long): Option[String] =
    try BaseFileFooter.read(table.storage.conf, table.storage.path(file), bytes).minKey
    catch { case _: FileNotFoundException => None }
}
