package io.merganser.table.timeline

import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.FileSlice
import io.merganser.table.storage.Storage

/** A clustering on the timeline, as another engine schedules it. */
object PlannedClustering {

  /** @return its instant */
  def of(storage: Storage, slices: Seq[FileSlice]): String = {
    val config  = TableConfig.load(storage)
    val instant = InstantTime.next(storage.toString, config.timelineZone, Timeline.load(storage, config).times)
    at(storage, instant, slices)
    instant
  }

  def at(storage: Storage, instant: String, slices: Seq[FileSlice]): Unit = {
    val config = TableConfig.load(storage)
    storage.createNew(s"${config.timelineFolder}/${InstantFile.requested(instant, Action.Clustering)}",
      requested(slices))
  }

  private def requested(slices: Seq[FileSlice]): Array[Byte] = {
    import AvroRecords._
    def part(of: org.apache.avro.Schema, name: String) = {
      val field = of.getField(name).schema.getTypes.get(1)
      if (field.getType == org.apache.avro.Schema.Type.ARRAY) field.getElementType else field
    }
    val schema = RequestedReplace.Record.schema
    val plan   = part(schema, "clusteringPlan")
    val group  = part(plan, "inputGroups")
    val infos = slices.map(s =>
      build(part(group, "slices"), "dataFilePath" -> s.base.map(_.name).getOrElse(""),
        "deltaFilePaths" -> Seq.empty[String],
        "fileId" -> s.fileId, "partitionPath" -> s.partitionPath, "version" -> 1))
    val groups = Seq(build(group, "slices" -> infos, "numOutputFileGroups" -> 1, "version" -> 1))
    encode(build(schema, "operationType" -> "CLUSTER", "version" -> 1,
        "clusteringPlan" -> build(plan, "inputGroups" -> groups, "version" -> 1)))
  }
}
