package io.merganser.table.timeline

import java.io.File
import java.nio.file.Paths

import io.merganser.table.HadoopDefaults
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.avro.Schema
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

/** Plans and metadata of cleans, in the form of those that Hudi wrote. */
final class CleanRecordsSuite extends AnyFunSuite {

  /** Names, types and defaults of the fields, without what Avro's Java classes add. */
  private def fields(schema: Schema): String =
    schema.toString.replaceAll(",\"avro.java.string\":\"String\"", "").replaceAll(",\"doc\":\"[^\"]*\"", "")
      .replace("{\"type\":\"string\"}", "\"string\"")
      // A default inside of a type, where it means nothing.
      .replaceAll("(\"type\":\"map\",\"values\":[^\\]]*?),\"default\":null\\}", "$1}")

  for (name <- Seq("cow_archived", "cow_archived_v6"))
    test(s"$name: recorded plans and metadata of cleans are read, and ours have the same fields and values") {
      val root     = Paths.get(System.getProperty("merganser.root"), "tests", "golden", name, "table").toFile
      val s        = Storage(new File(root.toURI).toURI.toString, HadoopDefaults.shared)
      val config   = TableConfig.load(s)
      val timeline = Timeline.load(s, config)
      val clean    = timeline.instants.filter(_.action == Action.Clean).last
      val theirs   = timeline.contents(clean).toMap
      assert(theirs(InstantState.Inflight).isEmpty)

      val plan = timeline.cleanPlan(clean).get
      assert(plan.policy == "KEEP_LATEST_COMMITS" && plan.version == 2 && plan.files.values.flatten.size == 1)
      val planned = AvroRecords.decode(theirs(InstantState.Requested))
      val again   = AvroRecords.decode(CleanPlan.encode(plan, (p, n) => s.path(s"$p/$n").toString))
      assert(fields(again.getSchema) == fields(planned.getSchema))
      for (field <- planned.getSchema.getFields.asScala.map(_.name) if field != "filePathsToBeDeletedPerPartition")
        assert(String.valueOf(again.get(field)) == String.valueOf(planned.get(field)), field)
      assert(CleanPlan.decode(CleanPlan.encode(plan, (_, n) => s"file:/t/$n")) == plan)

      val metadata = timeline.cleanMetadata(clean).get
      assert(metadata.earliest.exists(_ <= metadata.lastCompleted) && metadata.filesDeleted == 1)
      val done   = AvroRecords.decode(theirs(InstantState.Completed))
      val doneAs = AvroRecords.decode(CleanMetadata.encode(metadata))
      assert(fields(doneAs.getSchema) == fields(done.getSchema))
      for (field <- done.getSchema.getFields.asScala.map(_.name))
        assert(String.valueOf(doneAs.get(field)) == String.valueOf(done.get(field)), field)
    }
}
