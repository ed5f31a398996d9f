package io.merganser.table.service

import io.merganser.table.options.Options
import io.merganser.table.properties.{PropertiesFile, TableConfig, TableProperties}
import io.merganser.table.storage.{Storage, TableLock}

import java.io.ByteArrayInputStream
import java.util.Properties

import scala.collection.JavaConverters._

/** A property before and after a repair; None where it is not there. */
final case class PropertyChange(key: String, before: Option[String], after: Option[String])

/** Where the properties of a repaired table come from. */
sealed abstract class PropertiesSource(val name: String)

object PropertiesSource {

  /** `hoodie.properties` was intact. */
  case object Intact extends PropertiesSource("file")

  /** `hoodie.properties.backup`, which an interrupted update has left. */
  case object Backup extends PropertiesSource("backup")

  /** The table's commits and what the user named. */
  case object Commits extends PropertiesSource("commits")
}

/**
 * Overwrites `hoodie.properties`, or restores it where it is lost or damaged.
 *
 * New properties are checked before anything is written. While the file is replaced its backup is complete, as in every
 * update of properties; a damaged file is kept beside it.
 *
 * @param check refuses properties that contradict the table's data
 */
final class PropertiesRepair(storage: Storage, lock: TableLock.Settings = TableLock.Settings())(
    check: TableConfig => Unit
) {
  import PropertiesRepair.parse

  /**
   * Replaces all properties.
   *
   * @param properties the new ones; the checksum is computed
   * @throws io.merganser.merge.MerganserException PROPERTIES_CONTRADICT_DATA, TABLE_VERSION_UNKNOWN, LOCK_TIMEOUT;
   *                                               nothing is changed then
   */
  def overwrite(properties: Map[String, String]): Seq[PropertyChange] = locked {
    val config = checked(properties)
    PropertiesFile.recover(storage)
    val before = intact
    before match {
      case Some(old) if old == config.properties => ()
      case Some(old)                             => PropertiesFile.replace(storage, old, config.properties)
      case None                                  => recreate(config.properties)
    }
    changes(before.orElse(readable).getOrElse(Map.empty), config.properties)
  }

  /**
   * Restores the properties from the file, its backup, or what `recreated` returns, and sets the named ones.
   *
   * @param named     properties that replace those of the file or the backup
   * @param dryRun    changes nothing
   * @param recreated all properties by the table's commits; called where neither file is intact
   */
  def restore(named: Map[String, String], dryRun: Boolean)(
      recreated: => Map[String, String]
  ): (PropertiesSource, Seq[PropertyChange]) = {
    def restored(): (PropertiesSource, Seq[PropertyChange]) = {
      val (source, old) = current
      val config        = checked(old.fold(recreated)(_ ++ named))
      if (old.isEmpty) readable.foreach(requireLike(_, config, named))
      if (!dryRun) write(source, old, config)
      (source, changes(old.orElse(readable).getOrElse(Map.empty), config.properties))
    }
    if (dryRun) restored() else locked(restored())
  }

  private def locked[T](work: => T): T = TableLock.hold(storage, lock)(_ => work)

  private def checked(properties: Map[String, String]): TableConfig = {
    if (properties.get("hoodie.table.name").forall(_.trim.isEmpty))
      throw PropertiesCheck.refused(storage, "hoodie.table.name", "", "a table has a name")
    val config = TableConfig.supported(storage, TableConfig.withChecksum(properties - PropertiesFile.Checksum))
    check(config)
    config
  }

  /** As readers choose: without a checksum the file may be truncated, and a backup is complete. */
  private def current: (PropertiesSource, Option[Map[String, String]]) = {
    def found(source: PropertiesSource, properties: Option[Map[String, String]]) =
      properties.map(p => (source, Option(p)))
    found(PropertiesSource.Intact, intact.filter(_.contains(PropertiesFile.Checksum)))
      .orElse(found(PropertiesSource.Backup, PropertiesFile.intact(storage, PropertiesFile.Backup)))
      .orElse(found(PropertiesSource.Intact, intact))
      .getOrElse((PropertiesSource.Commits, None))
  }

  private def write(source: PropertiesSource, old: Option[Map[String, String]], config: TableConfig): Unit =
    source match {
      case PropertiesSource.Commits => recreate(config.properties)
      case _ =>
        PropertiesFile.recover(storage)
        if (!old.contains(config.properties)) PropertiesFile.replace(storage, old.get, config.properties)
    }

  private def intact: Option[Map[String, String]] = PropertiesFile.intact(storage, PropertiesFile.Name)

  /** The properties of a damaged file, as far as they can be read. */
  private def readable: Option[Map[String, String]] =
    storage.status(PropertiesFile.Name).flatMap { _ =>
      try Some(parse(storage.readUnverified(PropertiesFile.Name)))
      catch { case _: IllegalArgumentException => None }
    }

  /** What a damaged file still has of the rule and the keys is not replaced by a default. */
  private def requireLike(damaged: Map[String, String], config: TableConfig, named: Map[String, String]): Unit =
    for {
      entries <- Seq(Seq(Options.StoredMergeMode, Options.MergeModeOption), Seq(Options.OrderingFields),
        Seq(Options.RecordKey), Seq(Options.PartitionFields))
      names = entries.flatMap(_.names)
      if !named.keys.exists(key => names.exists(_.equalsIgnoreCase(key)))
      key <- names
      was <- damaged.get(key)
      if TableProperties.of(key).isDefined && was.trim.nonEmpty && !config.properties.get(key).contains(was)
    } throw PropertiesCheck.refused(storage, key, config.properties.getOrElse(key, ""),
      s"the damaged ${PropertiesFile.Name} has '$was'; name the one that holds")

  /** From the first step on the backup is complete, so that a repetition finds it. */
  private def recreate(properties: Map[String, String]): Unit = {
    val content = PropertiesFile.write(properties)
    if (PropertiesFile.intact(storage, PropertiesFile.Backup).isEmpty) {
      storage.delete(PropertiesFile.Backup)
      storage.createNew(PropertiesFile.Backup, content)
    }
    keep(PropertiesFile.Name)
    storage.delete(PropertiesFile.Name)
    storage.createNew(PropertiesFile.Name, content)
    storage.delete(PropertiesFile.Backup)
    ()
  }

  /** Copies a damaged file, which may have what the new one lacks. */
  private def keep(file: String): Unit = storage.status(file).foreach { found =>
    val aside = s"$file.damaged.${found.getModificationTime}"
    if (!storage.exists(aside)) storage.createNew(aside, storage.readUnverified(file))
  }

  private def changes(before: Map[String, String], after: Map[String, String]): Seq[PropertyChange] =
    (before.keySet ++ after.keySet).toSeq.sorted.map(key => PropertyChange(key, before.get(key), after.get(key)))
}

object PropertiesRepair {

  /** @throws IllegalArgumentException if they are not in the format of Java properties */
  def parse(bytes: Array[Byte]): Map[String, String] = {
    val java = new Properties
    java.load(new ByteArrayInputStream(bytes))
    java.asScala.toMap
  }
}
