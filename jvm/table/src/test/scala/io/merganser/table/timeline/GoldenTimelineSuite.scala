package io.merganser.table.timeline

import java.io.File
import java.nio.file.Paths

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.merganser.table.{HadoopDefaults, TableSuite}
import io.merganser.table.commit.{Rollback, Transaction}
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.MergeMode
import io.merganser.table.schema.{DroppedColumns, MetaColumns}
import io.merganser.table.slice.TableView
import io.merganser.table.storage.Storage
import org.apache.avro.Schema
import org.apache.hadoop.fs.FileUtil

import scala.collection.JavaConverters._

/** Tables that the reference implementation wrote: we read what it reports of them. */
final class GoldenTimelineSuite extends TableSuite {

  private val root   = Paths.get(System.getProperty("merganser.root"), "tests", "golden").toFile
  private val tables = root.listFiles.filter(new File(_, "expected.json").exists).map(_.getName).sorted.toSeq

  private def golden(name: String): Storage =
    Storage(new File(root, s"$name/table").toURI.toString, HadoopDefaults.shared)

  private def expected(name: String): JsonNode = new ObjectMapper().readTree(new File(root, s"$name/expected.json"))

  private def texts(node: JsonNode): Seq[String] = node.elements.asScala.map(_.asText).toList

  /** Partition, whether the base file is that of the newest compaction, number of log files: of each slice. */
  private def shape(name: String): Seq[(String, Boolean, Int)] = {
    val s        = golden(name)
    val config   = TableConfig.load(s)
    val timeline = Timeline.load(s, config)
    val compacted =
      timeline.completed.filter(i =>
        i.action == Action.Commit && timeline.metadata(i).operationType == OperationType.Compact).lastOption
    new TableView(s, config, timeline).slices
      .map(slice =>
        (slice.partitionPath, compacted.exists(c => slice.base.exists(_.instant == c.requested)), slice.logs.size))
  }

  test("the golden tables are not empty") {
    assert(tables.size >= 20)
  }

  tables.foreach { name =>
    test(s"$name: properties, schema, partitions and files are as their writer reports") {
      val s        = golden(name)
      val config   = TableConfig.load(s)
      val timeline = Timeline.load(s, config)
      val facts    = expected(name).get("table")
      assert(config.name == name && config.tableType.name == facts.get("type").asText && config.version == facts.get(
        "version").asInt)
      assert(config.recordKeyFields == texts(facts.get("record_key")))
      assert(config.partitionFields == texts(facts.get("partition")).map(_.takeWhile(_ != ':')))
      assert(config.orderingFields == texts(facts.get("ordering")))
      assert(config.keyGeneratorType == facts.get("key_generator").asText.stripSuffix("_AVRO"))
      if (!facts.get("merge_mode").isNull) assert(MergeMode.of(config).name == facts.get("merge_mode").asText)
      assert(config.properties == expected(name).get("properties").fields.asScala.map(e =>
        e.getKey -> e.getValue.asText).toMap)
      assert(config.properties("hoodie.table.checksum") == config.checksum.toString)

      val columns = expected(name).get("columns").elements.asScala.map(_.get(0).asText).toSet
      val stored  = new Schema.Parser().parse(timeline.tableSchemaJson.get).getFields.asScala.map(_.name)
      // After a change of columns the reference stores the meta columns too.
      assert(stored.filterNot(MetaColumns.isMeta).toSet ++ DroppedColumns.of(config) == columns)

      val view       = new TableView(s, config, timeline)
      val metaColumn = texts(expected(name).get("meta_columns"))
      val rows       = expected(name).get("meta_rows").elements.asScala.map(texts).toList
      if (metaColumn.nonEmpty) {
        assert(rows.map(_(metaColumn.indexOf("_hoodie_partition_path"))).toSet.subsetOf(view.partitions.toSet))
        assert(rows.map(_(metaColumn.indexOf("_hoodie_commit_time"))).forall(timeline.isCompleted))
      }

      val sizes = view.partitions.flatMap(view.allSlices).flatMap(slice =>
        slice.base.map(f => f.path -> f.sizeBytes) ++ slice.logs.map(f => f.path -> f.sizeBytes)).toMap
      val archive = new ArchivedTimeline(s, config)
      assert(archive.writes.nonEmpty == name.contains("archived"))
      val whole   = timeline.withArchived(archive.writes)
      val stats   = whole.completed.map(whole.metadata(_: Instant)).flatMap(_.allStats)
      val gone    = timeline.replacedGroups.map(_.fileId)
      val cleaned = (archive.cleans ++ timeline.cleans).flatMap(_.files.values.flatten).toSet
      assert(stats.filterNot(stat => gone(stat.fileId) || cleaned(stat.fileName)).map(stat =>
        stat.path -> stat.fileSizeInBytes).toMap == sizes)
      timeline.completed.foreach { instant =>
        val metadata = timeline.metadata(instant)
        assert(CommitMetadata.decode(CommitMetadata.encodeAvro(metadata,
            instant.action == Action.ReplaceCommit)) == metadata)
      }
    }
  }

  test("a slice after a compaction has its base file and the later logs") {
    assert(shape("mor_compacted") == Seq(("a", true, 2), ("b", true, 0), ("c", false, 1)))
  }

  test("a slice before a scheduled compaction is read with all later logs") {
    assert(shape("mor_pending_compaction") == Seq(("", false, 3)))
    val s        = golden("mor_pending_compaction")
    val timeline = Timeline.load(s, TableConfig.load(s))
    val plan     = timeline.compactionPlan(timeline.pendingCompactions.head)
    assert(plan.operations.map(o => (o.partitionPath, o.baseFile.isDefined, o.logFiles.size)) == Seq(("", true, 1)))
    assert(plan.operations.head.metrics.contains("TOTAL_LOG_FILES_SIZE"))
    assert(CompactionPlan.decode(CompactionPlan.encode(plan)).operations == plan.operations)
  }

  test("a replaced partition shows its new group only") {
    val s    = golden("cow_replaced")
    val open = view(s)
    assert(open.slices("a").size == 1 && open.slices("b").size == 1)
    assert(open.slices.map(_.fileId).toSet.intersect(Timeline.load(s, TableConfig.load(s)).replacedGroups.map(_.fileId))
        .isEmpty)
  }

  test("our write onto a copy comes after everything in it, in each table version") {
    for (name <- Seq("mor_compacted", "mor_v8", "mor_v6")) {
      FileUtil.copy(new File(root, s"$name/table"), golden(name).fs,
        new org.apache.hadoop.fs.Path(folder.resolve(name).toUri), false,
        HadoopDefaults.shared)
      val s      = Storage(folder.resolve(name).toUri.toString, HadoopDefaults.shared)
      val before = view(s).slices
      assert(Rollback.failed(s, TableConfig.load(s), Transaction.Options()).isEmpty)
      val t    = Transaction.begin(s, TableConfig.load(s), Action.DeltaCommit)
      val last = t.timeline.newestCompleted.get
      assert(t.instant > last.requested && last.completed.forall(t.instant > _))
      t.commit(upserted(writeBase(s, t, "new")), Set.empty)
      assert(view(s).slices.filterNot(_.fileId == "new") == before, name)
      assert(view(s).slices.exists(_.fileId == "new"), name)
    }
  }
}
