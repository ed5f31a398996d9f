package io.merganser.table.verify

import io.merganser.merge.NamedValue

/** What may be wrong with a table. */
sealed abstract class FindingKind(val name: String) extends NamedValue

object FindingKind {

  /** A data file that no commit names: of a killed writer, or a copy. */
  case object UncommittedFile extends FindingKind("uncommitted_file")

  /** A commit names a file that is needed and not there. */
  case object MissingFile extends FindingKind("missing_file")

  /** A data file or an instant's file that cannot be read, or has another size than its commit has. */
  case object UnreadableFile extends FindingKind("unreadable_file")

  /** A folder with data files that readers ignore, as it has no partition metadata. */
  case object PartitionMetadata extends FindingKind("partition_metadata")

  /** A base file has another number of rows than its commit has. */
  case object RecordCount extends FindingKind("record_count")

  /** The range or the Bloom filter in a base file's footer leaves out a key of its rows. */
  case object KeyStatistics extends FindingKind("key_statistics")

  /** A row without a record key. */
  case object NullKey extends FindingKind("null_key")

  /** A row whose key columns are those of another record key, or null. */
  case object OtherKey extends FindingKind("other_key")

  /** A key that is stored more than once. */
  case object DuplicateKey extends FindingKind("duplicate_key")

  /** A key that belongs into another bucket. */
  case object OtherBucket extends FindingKind("other_bucket")

  /** A row whose partition columns are those of another partition. */
  case object OtherPartition extends FindingKind("other_partition")

  /** Meta columns of a row that disagree with its file or with the timeline. */
  case object MetaColumns extends FindingKind("meta_columns")

  /** Paths that merge the same versions with different results. */
  case object Replay extends FindingKind("replay")

  val all: Seq[FindingKind] = Seq(UncommittedFile, MissingFile, UnreadableFile, PartitionMetadata, RecordCount,
    KeyStatistics, NullKey, OtherKey, DuplicateKey, OtherBucket, OtherPartition, MetaColumns, Replay)
}

/**
 * Something that is wrong.
 *
 * @param fileId   empty where it is not of one file group
 * @param file     path of the file, relative to the table's; empty where it is not of one file
 * @param key      one of the record keys; None where it is not of keys
 * @param problems number of rows, keys or files
 * @param detail   in a sentence
 */
final case class Finding(
    kind: FindingKind,
    partitionPath: String,
    fileId: String,
    file: String,
    key: Option[String],
    problems: Long,
    detail: String
)

/** Counts what is wrong with the rows of a file, with the first key for each sentence. */
private[verify] final class FindingCounts(partitionPath: String, fileId: String, file: String) {
  private[this] val found = scala.collection.mutable.LinkedHashMap.empty[(FindingKind, String), (Option[String], Long)]

  def add(kind: FindingKind, detail: String, key: => Option[String]): Unit = {
    val before = found.getOrElse((kind, detail), (key, 0L))
    found.put((kind, detail), (before._1, before._2 + 1))
    ()
  }

  def result: Seq[Finding] = found.toList.map { case ((kind, detail), (key, count)) =>
    Finding(kind, partitionPath, fileId, file, key, count, detail)
  }
}
