package io.merganser.table.damage

import io.merganser.table.Rows
import io.merganser.table.commit.{BucketMetadata, TableFeatures}
import io.merganser.table.file.Markers
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.{DroppedColumns, MetaColumns}
import io.merganser.table.slice._
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{ArchivedTimeline, Timeline}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast}
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._

/** What a user can read of a table without an engine, each as lines that can be compared. */
object TableReads {

  val all: Seq[(String, Storage => Seq[String])] = Seq(
    "snapshot" -> (storage => open(storage).rows()),
    "read optimized" -> (storage => open(storage).optimized),
    "time travel" -> (storage => past(storage)),
    "history" -> (storage => history(storage))
  )

  private def open(storage: Storage): Open = {
    val config   = TableConfig.load(storage)
    val timeline = Timeline.load(storage, config)
    TableFeatures.requireReadable(storage, timeline)
    new Open(storage, config, timeline)
  }

  /** As of an instant in the middle; of a damaged table, the same instant. */
  private def past(storage: Storage): Seq[String] = {
    val now = open(storage)
    val all = now.timeline.completed.map(_.requested)
    if (all.isEmpty) Nil
    else {
      val at = all((all.size - 1) / 2)
      s"as of $at" +: new Open(storage, now.config,
        new TimeTravel(storage, now.config, now.timeline).to(at)).rows()
    }
  }

  private def history(storage: Storage): Seq[String] = {
    val now      = open(storage)
    val timeline = now.timeline
    val archive  = new ArchivedTimeline(storage, now.config)
    timeline.instants.map(_.toString) ++
      timeline.completed.map(i => s"$i ${timeline.metadata(i)}") ++
      timeline.pendingCompactions.map(i => s"$i ${timeline.compactionPlan(i)}") ++
      timeline.groupsInClustering.map(_.toString).toSeq.sorted ++
      timeline.replacedGroups.map(_.toString).toSeq.sorted ++
      archive.writes.map(_.toString) ++
      BucketMetadata.stored(storage, timeline).map(_.toString) ++
      timeline.pending.flatMap(i => new Markers(storage, i.requested).all.map(_.toString).sorted)
  }

  private final class Open(storage: Storage, val config: TableConfig, val timeline: Timeline) {
    private val schema = DroppedColumns.added(config, timeline.tableColumns.getOrElse(new StructType))

    private val meta       = if (config.storesKeys) MetaColumns.schema.fields.toSeq else Nil
    private val projection = StructType(schema.fields ++ meta)
    private val view       = new TableView(storage, config, timeline)
    private val rule       = StoredRule.of(config, Nil)

    /** The tables that store no keys have one key column. */
    private def rowKey: Option[RowKey] = if (config.storesKeys) None
    else config.recordKeyFields.headOption.flatMap(name => schema.find(_.name == name)).map { field =>
      RowKey(Cast(AttributeReference(field.name, field.dataType)(), StringType), StructType(Seq(field)))
    }

    private def reader =
      TableSnapshot(storage, config, rule, schema, LogVisibility(timeline), rowKey).reader(projection)

    def rows(): Seq[String] = schema.simpleString +: view.slices.flatMap { slice =>
      val rows = reader.rows(slice)
      try rows.map(Rows.plain(_, projection).toString).toVector
      finally rows.close()
    }.sorted

    def optimized: Seq[String] = schema.simpleString +: view.readOptimizedSlices.flatMap { slice =>
      val batches = new SliceBatchReader(reader.input).baseBatches(SlicePart(slice))
      try batches.flatMap(_.rowIterator.asScala.map(Rows.plain(_, projection).toString)).toVector
      finally batches.close()
    }.sorted
  }
}
