package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.{BaseFileFooter, BaseReadOptions}
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.{DerivedColumns, FileSlice, LogInserts, TableFileReader}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.Partitions

import scala.collection.mutable

/** Which of two forms a stored key has. */
private[place] sealed trait KeyForms extends Serializable {

  /** None if the key does not show it. */
  def of(key: String): Option[Boolean]

  /** The form of all keys of a range, by their first and last; None if they may differ. */
  def ofRange(first: String, last: String): Option[Boolean]
}

/**
 * Whether timestamps in keys are `2024-01-02 03:04:05.678`, not microseconds.
 *
 * @param fields the key columns
 * @param times  those that are timestamps
 */
private[place] final case class LogicalTimes(fields: Seq[String], times: Seq[String]) extends KeyForms {
  import LogicalTimes._

  override def of(key: String): Option[Boolean] = times.flatMap(part(key, _)).collectFirst {
    case Micros()  => false
    case Logical() => true
  }

  override def ofRange(first: String, last: String): Option[Boolean] = None

  /** The string of one field in a key. */
  private def part(key: String, field: String): Option[String] = {
    val name  = s"$field:"
    val start = if (key.startsWith(name)) 0 else key.indexOf(s",$name") + 1
    if (!key.startsWith(name, start)) { if (fields.size == 1) Some(key) else None }
    else {
      val next = fields.lift(fields.indexOf(field) + 1).map(f => key.indexOf(s",$f:", start)).filter(_ >= 0)
      Some(key.substring(start + name.length, next.getOrElse(key.length)))
    }
  }
}

private object LogicalTimes {
  private val Micros  = "-?\\d+".r
  private val Logical = "-?\\d{4,}-\\d\\d-\\d\\d .*".r
}

/** Whether the key of a single column lacks its name: `1`, not `id:1`. */
private[place] final case class WithoutName(field: String) extends KeyForms {
  private val name = s"$field:"

  override def of(key: String): Option[Boolean] = Some(!key.startsWith(name))

  /** Strings with one beginning are neighbours in every order of strings. */
  override def ofRange(first: String, last: String): Option[Boolean] =
    if (first.startsWith(name) && last.startsWith(name)) Some(false)
    else if (last < name || (first > name && !first.startsWith(name))) Some(true)
    else None
}

/** For any one key. */
private[place] case object AnyKey extends KeyForms {
  override def of(key: String): Option[Boolean] = Some(true)

  override def ofRange(first: String, last: String): Option[Boolean] = Some(true)
}

/** Searches the keys of a table for one of each form: by the footers of base files where these show it. */
private[place] final class KeyScan(table: OpenTable, rule: StoredRule, forms: KeyForms) extends Serializable {
  private val merging = table.reader(rule, MetaColumns.keySchema)
  private val storage = table.storage
  private val config  = table.config
  private val rowKey  = table.rowKey
  private val history = table.timeline.history

  /**
   * At most one key of each form.
   *
   * @param slices with whether their logs may have keys that their base files have not
   */
  def examples(slices: Iterator[(FileSlice, Boolean)]): Map[Boolean, String] = {
    val found                   = mutable.Map.empty[Boolean, String]
    def look(key: String): Unit = forms.of(key).foreach(form => found.getOrElseUpdate(form, key))
    while (found.size < 2 && slices.hasNext) {
      val (slice, inLogs) = slices.next()
      if (inLogs) {
        val open = merging.merge(slice)
        try while (found.size < 2 && open.merge.next()) look(open.layout.key(open.merge.row).toString)
        finally open.close()
      } else inBase(slice, look)
    }
    found.toMap
  }

  private def inBase(slice: FileSlice, look: String => Unit): Unit = slice.base.foreach { base =>
    val footer = BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes)
    val ends   = footer.minKey.toSeq ++ footer.maxKey
    ends.foreach(look)
    if (ends.size < 2 || forms.ofRange(ends.head, ends.last).isEmpty) {
      val reader = new TableFileReader(storage, slice.partitionPath, base,
        new DerivedColumns(config, MetaColumns.keySchema, rowKey),
        BaseReadOptions(known = Some(footer),
          columns = history.map(_.columns(base.instant))))
      try reader.rows().foreach(row => look(row.getString(0)))
      finally reader.close()
    }
  }
}

private[place] object KeyScan {

  /** At most one key of each form that the slices store. */
  def of(
      session: SparkSession,
      table: OpenTable,
      rule: => StoredRule,
      forms: KeyForms,
      slices: Seq[FileSlice]
  ): Map[Boolean, String] =
    if (slices.isEmpty) Map.empty
    else {
      val scan   = new KeyScan(table, rule, forms)
      val inLogs = LogInserts.in(slices.toIndexedSeq, table.config, table.timeline, table.hasRings)
      val tasks  = math.min(slices.size, session.sparkContext.defaultParallelism)
      Partitions.collect(session.sparkContext.parallelize(slices.zipWithIndex, tasks))(it =>
        scan.examples(it.map { case (slice, position) => (slice, inLogs(position)) }).iterator).toMap
    }
}
