package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.file.FileNames
import io.merganser.table.options.{OptionEntry, Options, StoredKeyPolicy, WriteOperation}
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import io.merganser.table.settings.{KeyGenerator, WriteConfig}
import io.merganser.table.slice.{DerivedColumns, FileSlice, LogInserts, LogVisibility, SliceReader, TableFileReader}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.Partitions
import org.apache.spark.sql.types.{StructType, TimestampType}

import scala.collection.mutable

import java.io.FileNotFoundException

/**
 * The form of a table's stored keys, where its properties leave it open: Hudi's writers choose it by an option that no
 * table stores, and with another form a key would be stored a second time. One footer of a base file shows it.
 */
object StoredKeyForm {

  /** Commits that are searched for a base file. */
  private val Searched = 20

  private val Micros  = "-?\\d+".r
  private val Logical = "-?\\d{4,}-\\d\\d-\\d\\d .*".r

  /**
   * The settings with the form of the stored keys.
   *
   * @throws MerganserException CONFIG_CONFLICT if an option requests another form
   */
  def settled(settings: WriteConfig, table: OpenTable): WriteConfig = {
    val open = undecided(table)
    if (open.isEmpty) settings
    else newestKey(table).fold(settings) { key =>
      val found = open.flatMap(entry => isSet(entry, key, table).map(entry.key -> _.toString))
      for ((name, stored) <- found; requested <- settings.keyForm.get(name) if requested != stored)
        throw MerganserException("CONFIG_CONFLICT", "key" -> name, "value" -> requested, "stored" -> stored,
          "by" -> s"by its stored key '$key', table '${table.config.name}' has")
      settings.copy(keyForm = settings.keyForm ++ found)
    }
  }

  /**
   * Refuses a write that looks up keys, where keys with timestamps are stored in both forms: a row would be stored a
   * second time. Keys are sorted as strings, so only all of them show it.
   *
   * @throws MerganserException KEY_FORMS_MIXED
   */
  private[write] def requireOne(session: SparkSession, settings: WriteConfig, table: OpenTable): Unit =
    if (table.config.storesKeys && looksUpKeys(settings) && undecided(table).contains(Options.LogicalTimestamp)) {
      val slices = table.view.slices
      val inLogs = LogInserts.in(slices.toIndexedSeq, table.config, table.timeline, table.hasRings)
      val scan   = new KeyScan(table, settings, inLogs)
      val tasks  = math.min(slices.size, session.sparkContext.defaultParallelism)
      if (tasks > 0) {
        val examples = Partitions.collect(session.sparkContext.parallelize(slices.zipWithIndex, tasks))(scan.examples)
        for (logical <- examples.find(_._1); micros <- examples.find(!_._1))
          throw MerganserException("KEY_FORMS_MIXED", "table" -> table.config.name, "one" -> logical._2,
            "other" -> micros._2)
      }
    }

  private def looksUpKeys(settings: WriteConfig): Boolean = settings.operation match {
    case WriteOperation.Upsert | WriteOperation.Delete => true
    case WriteOperation.Insert =>
      settings.storedKeys == StoredKeyPolicy.Drop || settings.storedKeys == StoredKeyPolicy.Fail
    case _ => false
  }

  /** Reads stored keys in tasks. */
  private final class KeyScan(table: OpenTable, settings: WriteConfig, inLogs: Set[Int]) extends Serializable {
    private val fields    = table.config.recordKeyFields
    private val times     = timeFields(table)
    private val keyColumn = StructType(Seq(MetaColumns.schema(MetaColumns.RecordKey)))
    private val merging =
      new SliceReader(table.storage, table.config, settings.rule, table.schema, keyColumn,
        LogVisibility(table.timeline), rowKey = table.rowKey)
    private val storage = table.storage
    private val config  = table.config
    private val rowKey  = table.rowKey
    private val history = table.timeline.history

    /** At most one key of each form, with whether it has the logical one. */
    def examples(slices: Iterator[(FileSlice, Int)]): Iterator[(Boolean, String)] = {
      val found   = mutable.Map.empty[Boolean, String]
      val columns = new DerivedColumns(config, keyColumn, rowKey)
      while (found.size < 2 && slices.hasNext) {
        val (slice, position)       = slices.next()
        def look(key: String): Unit = isLogical(key, fields, times).foreach(form => found.getOrElseUpdate(form, key))
        if (inLogs(position)) {
          val open = merging.merge(slice)
          try while (open.merge.next()) look(open.layout.key(open.merge.row).toString)
          finally open.close()
        } else slice.base.foreach { base =>
          val reader = new TableFileReader(storage, slice.partitionPath, base, columns,
            versions = history.map(_.columns(base.instant)))
          try reader.rows().foreach(row => look(row.getString(0)))
          finally reader.close()
        }
      }
      found.iterator
    }
  }

  private def undecided(table: OpenTable): Seq[OptionEntry] = {
    val config                 = table.config
    def isOpen(e: OptionEntry) = !e.names.exists(config.properties.contains)
    def isTime(field: String)  = FrameCheck.find(table.schema, field).exists(_.dataType == TimestampType)
    val keys                   = config.recordKeyFields
    (if (isOpen(Options.LogicalTimestamp) && keys.exists(isTime)) Seq(Options.LogicalTimestamp) else Nil) ++
      (if (
         config.version < 9 && isOpen(Options.ComplexKeyWithoutName) && keys.size == 1 &&
         KeyGenerator.stored(config) == KeyGenerator.Complex
       ) Seq(Options.ComplexKeyWithoutName)
       else Nil)
  }

  /** The value of the option with which the key was made; None if the key does not show it. */
  private def isSet(entry: OptionEntry, key: String, table: OpenTable): Option[Boolean] = {
    val fields = table.config.recordKeyFields
    if (entry == Options.ComplexKeyWithoutName) Some(!key.startsWith(s"${fields.head}:"))
    else {
      isLogical(key, fields, timeFields(table))
    }
  }

  private def timeFields(table: OpenTable): Seq[String] =
    table.config.recordKeyFields.filter(f => FrameCheck.find(table.schema, f).exists(_.dataType == TimestampType))

  private def isLogical(key: String, fields: Seq[String], times: Seq[String]): Option[Boolean] =
    times.flatMap(part(key, fields, _)).collectFirst {
      case Micros()  => false
      case Logical() => true
    }

  /** The string of one field in a key. */
  private def part(key: String, fields: Seq[String], field: String): Option[String] = {
    val name  = s"$field:"
    val start = if (key.startsWith(name)) 0 else key.indexOf(s",$name") + 1
    if (!key.startsWith(name, start)) { if (fields.size == 1) Some(key) else None }
    else {
      val next = fields.lift(fields.indexOf(field) + 1).map(f => key.indexOf(s",$f:", start)).filter(_ >= 0)
      Some(key.substring(start + name.length, next.getOrElse(key.length)))
    }
  }

  /** A key of the newest base file that the newest commits name; if they name none, of any. */
  private def newestKey(table: OpenTable): Option[String] = {
    val newest = table.timeline.completed.reverseIterator.take(Searched)
    val named = table.timeline.metadataOf(newest, most = 1).flatMap(_._2.allStats).filter(stat =>
      stat.path.nonEmpty && !stat.isLogFile && stat.fileSizeInBytes > 0).map(stat =>
      FileNames.path(stat.partitionPath, stat.fileName) -> stat.fileSizeInBytes)
    def others = table.view.slicesOneByOne(most = 1).flatMap(_.base).map(base => base.path -> base.sizeBytes)
    (named ++ others).flatMap { case (file, bytes) => keyIn(table, file, bytes) }.take(1).toList.headOption
  }

  /** None if another engine has removed the file, or stored no keys in its footer. */
  private def keyIn(table: OpenTable, file: String, bytes: Long): Option[String] =
    try BaseFileFooter.read(table.storage.conf, table.storage.path(file), bytes).minKey
    catch { case _: FileNotFoundException => None }
}
