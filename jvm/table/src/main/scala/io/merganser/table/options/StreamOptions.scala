package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of Structured Streaming queries. */
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

  val StreamStart: OptionEntry = read("hoodie.datasource.streaming.startOffset", AnyString, Some("earliest"),
    "Streams from a table: where a new query begins; later its checkpoint decides. `earliest`: with all rows of the " +
      "table, in a stream of change data as inserts. `latest`: with the next commit. A time in one of the " +
      "forms of `as.of.instant`: with commits that completed later; the instant of a commit means that commit.")
  val StreamMaxFiles: OptionEntry = read("maxFilesPerTrigger", Integer(1), None,
    "Streams from a table: a micro-batch takes commits until their files are more than this, but at least one " +
      "commit; of the first snapshot, file groups likewise. Not with `Trigger.Once`.")
  val StreamMaxBytes: OptionEntry = read("maxBytesPerTrigger", Integer(1), None,
    "Streams from a table: the same for the size of the files, in bytes. With both, the first that is reached counts.")

  /** All options of streams that read. */
  val ofStreamedReads: Seq[OptionEntry] = Seq(StreamStart, StreamMaxFiles, StreamMaxBytes)

  /** All options of streams that write. */
  val ofStreams: Seq[OptionEntry] = Seq(StreamAttempts, StreamPause, StreamIdentifier, StreamWithoutCompaction)
}
