package io.merganser.spark.write

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.table.timeline.{CommitMetadata, MergeCounts}

/** Counts in the form that a commit's extra metadata and Python results have. */
object Counts {
  private val mapper = new ObjectMapper

  def fields(c: MergeCounts): Seq[(String, Long)] = Seq(
    "inserted" -> c.inserted,
    "updated" -> c.updated,
    "unchanged" -> c.unchanged,
    "late" -> c.late,
    "deleted" -> c.deleted,
    "ties" -> c.ties,
    "duplicates" -> c.duplicates,
    "appended" -> c.appended,
    "appendedDeletes" -> c.appendedDeletes
  )

  /** The counts that a commit's extra metadata has; zeros without any. */
  private[write] def of(metadata: CommitMetadata): MergeCounts = {
    val node                = mapper.readTree(metadata.extra.getOrElse(TableWrite.CountsKey, "{}"))
    def count(name: String) = node.path(name).asLong
    MergeCounts(
      inserted = count("inserted"),
      updated = count("updated"),
      unchanged = count("unchanged"),
      late = count("late"),
      deleted = count("deleted"),
      ties = count("ties"),
      duplicates = count("duplicates"),
      appended = count("appended"),
      appendedDeletes = count("appendedDeletes")
    )
  }

  def toJson(counts: MergeCounts): String = {
    val node = mapper.createObjectNode()
    fields(counts).foreach { case (name, value) => node.put(name, value) }
    node.toString
  }
}
