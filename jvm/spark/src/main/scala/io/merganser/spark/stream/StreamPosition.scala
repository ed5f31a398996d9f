package io.merganser.spark.stream

import io.merganser.merge.Json
import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * How far a stream has read a table.
 *
 * @param time  completion time up to which all commits are read; None before the first
 * @param part  how much of the snapshot as of `time` is read, if not all of it
 * @param write the newest write up to `time`, by its requested time; None if there was none, or only archived ones
 */
private[stream] final case class StreamPosition(
    time: Option[String],
    part: Option[SnapshotPart] = None,
    write: Option[String] = None
) extends Offset {

  /** Stored in checkpoints: a change needs another version. */
  override def json(): String = {
    val node = Json.createObjectNode().put("version", StreamPosition.Version)
    time.foreach(node.put("time", _))
    write.foreach(node.put("write", _))
    part.foreach(p => node.putObject("snapshot").put("next", p.next).put("of", p.of).put("groups", p.groups))
    node.toString
  }
}

/**
 * The first file groups of a snapshot, in the order of their partition and id.
 *
 * @param next   number of the first one that is not read
 * @param of     number of all
 * @param groups checksum of their names
 */
private[stream] final case class SnapshotPart(next: Int, of: Int, groups: String)

private[stream] object StreamPosition {
  private val Version       = 1
  val Begin: StreamPosition = StreamPosition(None)

  /** @return None if it was not written by this class */
  def parse(json: String): Option[StreamPosition] = {
    val node = Json.readTree(json)
    if (node == null || node.path("version").asInt != Version) None
    else Some(StreamPosition(
        Option(node.get("time")).map(_.asText),
        Option(node.get("snapshot")).map(p =>
          SnapshotPart(p.path("next").asInt, p.path("of").asInt, p.path("groups").asText)),
        Option(node.get("write")).map(_.asText)
      ))
  }
}
