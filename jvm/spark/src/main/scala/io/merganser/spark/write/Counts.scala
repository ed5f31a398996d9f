package io.merganser.spark.write

import com.fasterxml.jackson.databind.ObjectMapper
import io.merganser.table.timeline.MergeCounts

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

  def toJson(counts: MergeCounts): String = {
    val node = mapper.createObjectNode()
    fields(counts).foreach { case (name, value) => node.put(name, value) }
    node.toString
  }
}
