package io.merganser.table.options

import io.merganser.table.options.OptionKind._

/** Options of Structured Streaming queries. */
private[options] trait StreamOptions extends OptionDefinitions {

  val StreamAttempts: OptionEntry = write("hoodie.datasource.write.streaming.retry.count", Integer(0), Some("3"),
    "Streams: how often the write of a micro-batch is tried if it fails for a reason that may pass: a conflict, a " +
      "lock, the store or the cluster. Then the query fails with the last error.")
  val StreamPause: OptionEntry = write("hoodie.datasource.write.streaming.retry.interval.ms", Integer(0), Some("2000"),
    "Streams: milliseconds before a failed micro-batch is tried again; doubled each time.")
  val StreamIdentifier: OptionEntry = write("hoodie.datasource.write.streaming.checkpoint.identifier", AnyString,
    Some("default_single_writer"),
    "Streams: name of the stream in commits, by which Hudi's sink finds the last micro-batch if it continues the " +
      "stream from the same checkpoint. Give each stream into a table its own name. Merganser identifies a stream by " +
      "the query id in its checkpoint.")
  val StreamWithoutCompaction: OptionEntry = write("hoodie.datasource.write.streaming.disable.compaction", Bool,
    Some("false"),
    "Streams into merge-on-read tables: `false` compacts in the background of the session when a compaction is due, " +
      "unless other options of compaction are set; `true` leaves it to others.")

  val StreamStart: OptionEntry = read("hoodie.datasource.streaming.startOffset", AnyString, Some("earliest"),
    "Streams from a table: where a new query begins; later its checkpoint decides. `earliest`: all rows of the table " +
      "(as inserts in a stream of change data). `latest`: the next commit. A time, in the forms of `as.of.instant`: " +
      "commits that completed later; a commit's instant means that commit.")
  val StreamMaxFiles: OptionEntry = read("maxFilesPerTrigger", Integer(1), None,
    "Streams from a table: maximum number of files in a micro-batch, which takes at least one commit, or one file " +
      "group of the first snapshot. Not with `Trigger.Once`.")
  val StreamMaxBytes: OptionEntry = read("maxBytesPerTrigger", Integer(1), None,
    "Streams from a table: the same by the size of the files, in bytes. If both are set, the limit reached first " +
      "applies.")

  /** All options of streams that read. */
  val ofStreamedReads: Seq[OptionEntry] = Seq(StreamStart, StreamMaxFiles, StreamMaxBytes)

  /** All options of streams that write. */
  val ofStreams: Seq[OptionEntry] = Seq(StreamAttempts, StreamPause, StreamIdentifier, StreamWithoutCompaction)
}
