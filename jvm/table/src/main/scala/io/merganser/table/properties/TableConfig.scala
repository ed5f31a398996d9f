package io.merganser.table.properties

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{ZoneId, ZoneOffset}
import java.util.zip.CRC32

import io.merganser.merge.{DeleteCheck, MerganserException}
import io.merganser.merge.columns.DeclaredRule
import io.merganser.table.options.{ChangeLogging, Options}
import io.merganser.table.storage.{Storage, StorageFailure}

/**
 * hoodie.properties, typed. All keys are preserved, also unknown ones.
 *
 * @param properties the file's keys and values, unparsed
 */
final case class TableConfig(properties: Map[String, String]) {

  /** @throws IllegalStateException if the table has no name; files that were loaded have one */
  def name: String = text("hoodie.table.name").getOrElse(throw new IllegalStateException("the table has no name"))

  def database: Option[String] = text("hoodie.database.name")

  def tableType: TableType = known("hoodie.table.type", TableType.parse).getOrElse(TableType.CopyOnWrite)

  def isMergeOnRead: Boolean = tableType == TableType.MergeOnRead

  /** 6, 8 or 9. */
  def version: Int = text("hoodie.table.version").map(_.toInt)
    .getOrElse(throw new IllegalStateException(s"table '$name' has no version"))

  /** 1: instants are in `.hoodie` and have no completion time; 2: in a folder of their own, with one. */
  def layoutVersion: Int = known("hoodie.timeline.layout.version", Some(_).filter(Set("1", "2"))).map(_.toInt)
    .getOrElse(if (version >= 8) 2 else 1)

  /** Whether the table never had another layout, according to its properties. */
  def isCreatedInLayout2: Boolean =
    layoutVersion >= 2 && text("hoodie.table.initial.version").exists(v =>
      v.length < 4 && v.forall(_.isDigit) && v.toInt >= 8)

  /** Folder of the instants, relative to the base path. */
  def timelineFolder: String =
    if (layoutVersion >= 2) s".hoodie/${text("hoodie.timeline.path").getOrElse("timeline")}" else ".hoodie"

  /** Path of a file of the timeline, relative to the base path. */
  private[table] def timelineFile(name: String): String = s"$timelineFolder/$name"

  /** Folder of the instants in the layout that the table does not have. */
  private[table] def otherTimelineFolder: String = if (layoutVersion >= 2) ".hoodie" else ".hoodie/timeline"

  /** Folder of the archived instants, relative to the base path. */
  def historyFolder: String =
    if (layoutVersion >= 2) s"$timelineFolder/${text("hoodie.timeline.history.path").getOrElse("history")}"
    else s".hoodie/${text("hoodie.archivelog.folder").getOrElse("archived")}"

  /** Empty: keys are generated. */
  def recordKeyFields: Seq[String] = list("hoodie.table.recordkey.fields")

  /** Empty: the table is not partitioned. */
  def partitionFields: Seq[String] = partitionSpec.map(_.name)

  /** The partition fields with their kinds; a field without a kind gets the key generator's. */
  def partitionSpec: Seq[PartitionField] = {
    lazy val implied = keyGeneratorType match {
      case "TIMESTAMP"                => PartitionKind.Timestamp
      case "CUSTOM" | "USER_PROVIDED" => PartitionKind.Unknown
      case _                          => PartitionKind.Simple
    }
    list(TableConfig.PartitionFields).map { field =>
      field.lastIndexOf(':') match {
        case -1 => PartitionField(field, implied)
        case at => PartitionField(field.take(at).trim, PartitionKind.parse(field.drop(at + 1)))
      }
    }
  }

  /** SIMPLE, COMPLEX, TIMESTAMP, CUSTOM, NON_PARTITION, ...; inferred from the fields where the table stores none. */
  def keyGeneratorType: String =
    text("hoodie.table.keygenerator.type").map(_.toUpperCase(java.util.Locale.ROOT).stripSuffix("_AVRO"))
      .orElse(keyGeneratorClass.map(TableConfig.generatorType)).filterNot(_.startsWith("SPARK_SQL"))
      .getOrElse {
        val partitions = list(TableConfig.PartitionFields)
        if (partitions.isEmpty) "NON_PARTITION"
        else if (partitions.exists(_.contains(':'))) "CUSTOM"
        else if (partitions.size == 1 && recordKeyFields.size <= 1) "SIMPLE"
        else "COMPLEX"
      }

  /** Tables before version 8 store the class, and later ones that of a user. */
  def keyGeneratorClass: Option[String] = text(TableConfig.KeyGeneratorClass)

  def orderingFields: Seq[String] = list("hoodie.table.ordering.fields") match {
    case Nil    => list("hoodie.table.precombine.field")
    case fields => fields
  }

  def strategyId: Option[String] =
    text("hoodie.record.merge.strategy.id").orElse(text("hoodie.compaction.record.merger.strategy"))

  def payloadClass: Option[String] = text("hoodie.compaction.payload.class")

  /** The payload class the table was created with, where version 9 stores its rule as other properties. */
  def legacyPayloadClass: Option[String] = text("hoodie.table.legacy.payload.class")

  /** Has no effect below version 9. */
  def partialUpdateMode: Option[String] =
    text("hoodie.table.partial.update.mode").filter(_ => version >= 9).map(_.toUpperCase(java.util.Locale.ROOT))

  /** The rule by which each column is merged, if the table stores one. */
  def rule: Option[DeclaredRule] = text(Options.RuleText.key).map { text =>
    DeclaredRule.parse(text) match {
      case Right(rule)  => rule
      case Left(reason) => throw TableConfig.invalid(s"${Options.RuleText.key} is not a rule of this release: $reason")
    }
  }

  /** Requested time of the newest write under another rule than the table has now; None if there is none. */
  def ruleSince: Option[String] = text(TableConfig.RuleSince)

  /** What the last check of the rule found, as JSON. */
  def ruleChecked: Option[String] = text(TableConfig.RuleChecked)

  /**
   * Columns that a merge takes from the winner, whatever rule is declared: what identifies a row, orders or deletes it.
   */
  def fixedColumns: Set[String] = (recordKeyFields ++ partitionFields ++ orderingFields).flatMap(field =>
    Seq(field, field.takeWhile(_ != '.'))).toSet ++ mergeProperties.get(Options.DeleteField.key) ++
    Seq(DeleteCheck.FlagColumn, DeleteCheck.OperationColumn)

  /** Merge settings for readers, without their prefix. */
  def mergeProperties: Map[String, String] = properties.collect {
    case (key, value) if key.startsWith(Options.MergePropertyPrefix) =>
      key.drop(Options.MergePropertyPrefix.length) -> value
  }

  def hiveStyle: Boolean = flag("hoodie.datasource.write.hive_style_partitioning")

  def urlEncode: Boolean = flag("hoodie.datasource.write.partitionpath.urlencode")

  /** True: base files do not have the partition columns; their values are in the paths. */
  def dropsPartitionColumns: Boolean = flag("hoodie.datasource.write.drop.partition.columns")

  /**
   * True: the path of the single partition column has slashes for the dashes of its value. Hudi's data frame writer
   * stores only the class that parses such paths.
   */
  def hasSlashedDates: Boolean = !hiveStyle && partitionSpec.map(_.kind) == Seq(PartitionKind.Simple) &&
    (flag(TableProperties.SlashedDates) ||
      text(TableProperties.Extractor).exists(_.split('.').last == TableProperties.SlashedDays))

  /** False: the meta columns of keys and paths are null in all rows. */
  def storesKeys: Boolean = !text(TableProperties.VirtualKeys).exists(_.equalsIgnoreCase("false"))

  /** Hours for which base files retain deletes; None if they retain none. */
  def tombstoneHours: Option[Long] =
    known(Options.TombstonesRetained.key, v => scala.util.Try(v.toLong).toOption.filter(_ >= 0)).filter(_ > 0)

  /** What change files have, if the table's writes leave some; all images by default. */
  def changeLogging: Option[ChangeLogging] =
    if (!flag(Options.ChangeData.key)) None
    else Some(text(Options.ChangeLoggingMode.key).flatMap(ChangeLogging.parse).getOrElse(ChangeLogging.BeforeAfter))

  /** Zone in which instants are written; LOCAL, the default, is the zone of this JVM. */
  def timelineZone: ZoneId =
    if (text("hoodie.table.timeline.timezone").exists(_.equalsIgnoreCase("UTC"))) ZoneOffset.UTC
    else ZoneId.systemDefault

  /** Avro JSON without the meta columns; the schema until a commit stores one. */
  def createSchema: Option[String] = text(TableConfig.CreateSchema)

  /** Partitions of the metadata table that other engines rely on, complete and under construction. */
  def metadataPartitions: Seq[String] =
    (list(TableConfig.MetadataPartitions) ++ list(TableConfig.MetadataPartitionsInflight)).distinct

  /** CRC32 of `database.name`, unsigned. */
  def checksum: Long = {
    val crc = new CRC32
    crc.update(s"${database.getOrElse("")}.$name".getBytes(UTF_8))
    crc.getValue
  }

  private def text(key: String): Option[String] = properties.get(key).map(_.trim).filter(_.nonEmpty)

  private def list(key: String): Seq[String] =
    text(key).toSeq.flatMap(_.split(',').toSeq).map(_.trim).filter(_.nonEmpty)

  private def flag(key: String): Boolean = text(key).exists(_.equalsIgnoreCase("true"))

  /** The parsed value of a key; None where the table has no such key. */
  private[table] def known[T](key: String, parse: String => Option[T]): Option[T] = text(key).map { value =>
    parse(value).getOrElse(throw TableConfig.invalid(s"$key is '$value'"))
  }
}

object TableConfig {

  val PartitionFields            = "hoodie.table.partition.fields"
  val KeyGeneratorClass          = "hoodie.table.keygenerator.class"
  val CreateSchema               = "hoodie.table.create.schema"
  val MetadataPartitions         = "hoodie.table.metadata.partitions"
  val MetadataPartitionsInflight = "hoodie.table.metadata.partitions.inflight"

  /** Set by a change of the rule. */
  val RuleSince = "merganser.rule.since"

  /** Set by a check of the rule. */
  val RuleChecked = "merganser.rule.checked"

  private val Versions = Set("6", "8", "9")

  private[table] def invalid(reason: String): MerganserException =
    MerganserException("TABLE_PROPERTIES_INVALID", "file" -> PropertiesFile.Name, "reason" -> reason)

  def exists(storage: Storage): Boolean = StorageFailure.explained(storage) {
    storage.exists(PropertiesFile.Name) || storage.exists(PropertiesFile.Backup)
  }

  /**
   * Reads the table's properties; every query must read them again, since any writer may change them.
   *
   * @throws io.merganser.merge.MerganserException PATH_IS_NO_TABLE, TABLE_PROPERTIES_INVALID, TABLE_VERSION_UNKNOWN,
   *                                               what [[TableProperties.requireReadable]] and
   *                                               [[StorageFailure.explained]] throw
   */
  def load(storage: Storage): TableConfig = StorageFailure.explained(storage) {
    val config = supported(storage, TableConfig(PropertiesFile.read(storage)))
    requireTimeline(storage, config)
    config
  }

  /** With another layout or path of the timeline, as a changed byte may give, the table would be read as empty. */
  private def requireTimeline(storage: Storage, config: TableConfig): Unit = {
    def invalid(reason: String) = throw MerganserException("TABLE_PROPERTIES_INVALID",
      "file" -> storage.path(PropertiesFile.Name), "reason" -> reason)
    if ((config.version >= 8) != (config.layoutVersion >= 2))
      invalid(s"hoodie.timeline.layout.version is ${config.layoutVersion} in a table of version ${config.version}")
    config.text("hoodie.timeline.path").filter(_ => config.layoutVersion >= 2).filter(_ != "timeline").foreach { path =>
      if (!storage.exists(config.timelineFolder))
        invalid(s"hoodie.timeline.path is '$path', and there is no folder ${config.timelineFolder}")
    }
  }

  /** Completes an update that was cut short; to be called under the table lock. */
  private[table] def repair(storage: Storage): TableConfig = {
    PropertiesFile.recover(storage)
    load(storage)
  }

  private[table] def updateUnderLock(
      storage: Storage,
      change: Map[String, String] => Map[String, String]
  ): TableConfig = {
    val old     = repair(storage)
    val changed = supported(storage, withChecksum(change(old.properties)))
    if (changed != old) PropertiesFile.replace(storage, old.properties, changed.properties)
    changed
  }

  /** Removes the properties, so that the path is no longer a table; to be called under the table lock. */
  private[table] def remove(storage: Storage): Unit =
    Seq(PropertiesFile.Backup, PropertiesFile.Name).foreach(storage.delete)

  private[table] def withChecksum(properties: Map[String, String]): TableConfig = {
    val config = TableConfig(properties)
    config.copy(properties = properties + (PropertiesFile.Checksum -> config.checksum.toString))
  }

  private[table] def supported(storage: Storage, config: TableConfig): TableConfig = {
    val version = config.text("hoodie.table.version").getOrElse("not given")
    if (!Versions.contains(version))
      throw MerganserException("TABLE_VERSION_UNKNOWN", "path" -> storage, "version" -> version,
        "remedy" -> remedyOf(scala.util.Try(version.toInt).toOption))
    TableProperties.requireReadable(storage, config)
    config
  }

  private def remedyOf(version: Option[Int]): String = version match {
    case Some(older) if older < 6 => "Any Hudi from 0.14 on upgrades the table, with its next write"
    case Some(7)                  => "No Hudi release writes it: upgrade the table with the build that made it"
    case Some(_)                  => "Use a newer release, or downgrade the table with the Hudi that made it"
    case None                     => "Put the file back from a copy, or add the version that the table has"
  }

  /** Generator classes of earlier releases, by simple name. */
  private def generatorType(className: String): String = className.split('.').last match {
    case "SimpleKeyGenerator" | "SimpleAvroKeyGenerator"                 => "SIMPLE"
    case "ComplexKeyGenerator" | "ComplexAvroKeyGenerator"               => "COMPLEX"
    case "TimestampBasedKeyGenerator" | "TimestampBasedAvroKeyGenerator" => "TIMESTAMP"
    case "CustomKeyGenerator" | "CustomAvroKeyGenerator"                 => "CUSTOM"
    case "NonpartitionedKeyGenerator" | "NonpartitionedAvroKeyGenerator" => "NON_PARTITION"
    case "GlobalDeleteKeyGenerator" | "GlobalAvroDeleteKeyGenerator"     => "GLOBAL_DELETE"
    case "SqlKeyGenerator" | "MergeIntoKeyGenerator"                     => "SPARK_SQL"
    case _                                                               => "USER_PROVIDED"
  }
}
