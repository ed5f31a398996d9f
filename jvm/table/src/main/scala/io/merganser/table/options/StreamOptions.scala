package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of Structured Streaming queries that write to a table. */
private[options] trait StreamOptions extends OptionDefinitions {

  val StreamAttempts: OptionEntry = write("hoodie.datasource.write.streaming.retry.count", Integer(0), Some("3"),
    "Streams: times that the write of a micro-batch is tried, if it fails for a reason that a repetition may solve: " +
      "a conflict, a lock, the store or the cluster. Then the query fails with the last error.")
  val StreamPause: OptionEntry = write("hoodie.datasource.write.streaming.retry.interval.ms", Integer(0), Some("2000"),
    "Streams: milliseconds before a failed micro-batch is tried again; doubled each time.")
  val StreamIdentifier: OptionEntry = write("hoodie.datasource.write.streaming.checkpoint.identifier", AnyString,
    Some("default_single_writer"),
    "Streams: name of the stream in the commits, under which Hudi's sink finds the last micro-batch if it continues " +
      "the stream with the same checkpoint. Give each of several streams into one table its own. Here the id of the " +
      "query, which its checkpoint holds, identifies the stream.")
  val StreamWithoutCompaction: OptionEntry = write("hoodie.datasource.write.streaming.disable.compaction", Bool,
    Some("false"),
    "Streams into merge-on-read tables: `false` compacts in the background of the session when a compaction is due, " +
      "unless other options of compaction are set; `true` leaves it to others.")

  /** All options of streams that write. */
  val ofStreams: Seq[OptionEntry] = Seq(StreamAttempts, StreamPause, StreamIdentifier, StreamWithoutCompaction)
}
