package io.merganser.spark.write

import com.fasterxml.jackson.databind.node.ObjectNode
import io.merganser.merge.Json
import io.merganser.merge.buffer.{Lateness, MergeCounts}
import io.merganser.table.timeline.CommitMetadata

import scala.collection.JavaConverters._

/** Counts in the form that a commit's extra metadata and Python results have. */
object Counts {
  private val LatenessKey = "lateness"

  def fields(c: MergeCounts): Seq[(String, Long)] = MergeCounts.all.map(count => count.name -> count.in(c))

  /** The counts that a commit's extra metadata has; zeros without any. */
  private[spark] def of(metadata: CommitMetadata): MergeCounts = {
    val node     = Json.readTree(metadata.extra.getOrElse(TableCommit.CountsKey, "{}"))
    val lateness = node.path(LatenessKey).fields.asScala.map(e => e.getKey -> e.getValue.asLong).toMap
    MergeCounts.of(count => node.path(count.name).asLong, Lateness(lateness))
  }

  /** Numbers of keys by the name of their bucket, as JSON; null where no version was late, or that is not known. */
  def latenessJson(lateness: Lateness): String = if (lateness.isEmpty) null else latenessNode(lateness).toString

  /** The same of a commit. */
  def latenessOf(metadata: CommitMetadata): String = latenessJson(of(metadata).lateness)

  private def latenessNode(lateness: Lateness): ObjectNode = {
    val node = Json.createObjectNode()
    lateness.ascending.foreach { case (name, count) => node.put(name, count) }
    node
  }

  def toJson(counts: MergeCounts): String = {
    val node = Json.createObjectNode()
    fields(counts).foreach { case (name, value) => node.put(name, value) }
    if (!counts.lateness.isEmpty) node.set[ObjectNode](LatenessKey, latenessNode(counts.lateness))
    node.toString
  }
}
