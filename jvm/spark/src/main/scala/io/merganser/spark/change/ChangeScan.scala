package io.merganser.spark.change

import io.merganser.spark.read.FileGroupsRead
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.change.{ChangeImages, GroupChange, OpenImages}
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.{ChangeForm, ReadConfig}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

/** Changes that one task finds, one commit and file group after the other. */
final case class ChangePartition(changes: Array[GroupChange]) extends InputPartition

/**
 * A scan of the changes of commits, each file group of a commit in one task.
 *
 * @param filters on rows of the table: changes of which no row satisfies them may be left out
 * @param find    the changes; called when the scan is planned, and not for a stream
 * @param stream  the same columns as a stream, by the folder of its checkpoint
 */
final class ChangeScan(
    session: SparkSession,
    table: OpenTable,
    read: ReadConfig,
    form: ChangeForm,
    requested: StructType,
    filters: Seq[Filter],
    find: () => Seq[GroupChange],
    stream: Option[String => MicroBatchStream] = None
) extends Scan with Batch {

  private lazy val changes = find()

  @volatile private var isStream = false

  override def readSchema(): StructType = requested

  override def toBatch: Batch = this

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = {
    isStream = true
    stream.fold(super.toMicroBatchStream(checkpoint))(_(checkpoint))
  }

  override def description(): String =
    if (isStream) s"merganser changes of ${table.config.name}, as a stream" else described

  private def described: String = {
    val stored = changes.count(_.changeFiles.nonEmpty)
    s"merganser changes of ${table.config.name} [commits: ${changes.map(_.instant).distinct.size}, file groups: " +
      s"${changes.size}, by change files: $stored, by comparison: ${changes.size - stored}]"
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = Array(new FileGroupsRead)

  override def reportDriverMetrics(): Array[CustomTaskMetric] =
    if (isStream) Array.empty else Array((new FileGroupsRead).of(changes.size.toLong))

  override def planInputPartitions(): Array[InputPartition] = {
    val conf     = session.sessionState.conf
    val openCost = conf.filesOpenCostInBytes
    val total    = changes.map(_.sizeBytes + openCost).sum
    val target = math.min(conf.filesMaxPartitionBytes,
      math.max(openCost, total / math.max(1, session.sparkContext.defaultParallelism)))
    val packed        = Array.newBuilder[InputPartition]
    var bin           = List.empty[GroupChange]
    var bytes         = 0L
    def close(): Unit = if (bin.nonEmpty) { packed += ChangePartition(bin.reverse.toArray); bin = Nil; bytes = 0 }
    changes.foreach { change =>
      if (bytes + change.sizeBytes > target) close()
      bin = change :: bin
      bytes += change.sizeBytes + openCost
    }
    close()
    packed.result()
  }

  /** A user's merger class is needed only if rows are merged, or reasons are given. */
  private def rule: StoredRule = {
    val merges = changes.exists(c => Seq(c.before, c.after).exists(_.slice.exists(_.logs.nonEmpty)))
    if (merges || form.reason) StoredRule.of(table.config, read.mergerClassesFor(table.config)) else StoredRule.Unmerged
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    val stored = rule
    val rows   = ChangeRows(stored, table.schema, form, requested, session.sessionState.conf.sessionLocalTimeZone)
    val keys   = table.config.recordKeyFields.toSet
    // True for both rows of a change or for none.
    val onKeys = filters.filter(f => f.references.nonEmpty && f.references.forall(keys))
    ChangeReaderFactory(
      new ChangeImages(table.snapshot(stored), rows.needed, onKeys), rows)
  }
}

final case class ChangeReaderFactory(images: ChangeImages, rows: ChangeRows) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new ChangeReader(partition.asInstanceOf[ChangePartition].changes, images, rows)
}

/** Reads the changes of one commit and file group after the other; each has open files until it is at its end. */
private final class ChangeReader(changes: Array[GroupChange], images: ChangeImages, rows: ChangeRows)
    extends PartitionReader[InternalRow] {
  private[this] val reader           = images.reader()
  private[this] val output           = rows.output()
  private[this] var at               = 0
  private[this] var open: OpenImages = _

  override def next(): Boolean = {
    var found = open != null && open.next()
    while (!found && at < changes.length) {
      close()
      open = reader.open(changes(at))
      output.start(changes(at))
      at += 1
      found = open.next()
    }
    found
  }

  override def get(): InternalRow = output.row(open.before, open.after)

  override def close(): Unit = if (open != null) {
    open.close()
    open = null
  }
}
