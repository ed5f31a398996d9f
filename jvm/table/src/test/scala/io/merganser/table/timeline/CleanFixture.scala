package io.merganser.table.timeline

import AvroRecords._

/** Timeline files that another engine's cleaner writes, with the relevant fields. */
object CleanFixture {

  private val Partition =
    record("HoodieCleanPartitionMetadata", required("partitionPath", Str), required("successDeleteFiles", array(Str)))
  private val Metadata =
    record("HoodieCleanMetadata", optional("earliestCommitToRetain", Str),
      required("partitionMetadata", map(Partition)))

  private val Retained = record("HoodieActionInstant", required("timestamp", Str))
  private val FileInfo = record("HoodieCleanFileInfo", optional("filePath", Str))
  private val Plan = record("HoodieCleanerPlan", optional("earliestInstantToRetain", Retained), required("policy", Str),
    optional("filePathsToBeDeletedPerPartition", map(array(FileInfo))))

  private val Gone = Map("p" -> Seq("gone_0-0-0_1.parquet"))

  /** @param deleted partition path to the names of the files deleted */
  def completed(earliest: Option[String], deleted: Map[String, Seq[String]] = Gone): Array[Byte] =
    encode(build(Metadata, "earliestCommitToRetain" -> earliest.getOrElse(""),
        "partitionMetadata" -> deleted.map { case (partition, files) =>
          partition -> build(Partition, "partitionPath" -> partition, "successDeleteFiles" -> files)
        }))

  def planned(earliest: Option[String], deleted: Map[String, Seq[String]] = Gone): Array[Byte] =
    encode(build(Plan, "earliestInstantToRetain" -> earliest.map(i => build(Retained, "timestamp" -> i)),
        "policy" -> "KEEP_LATEST_COMMITS",
        "filePathsToBeDeletedPerPartition" -> deleted.map { case (partition, files) =>
          partition -> files.map(name => build(FileInfo, "filePath" -> s"file:/t/$partition/$name"))
        }))

  private val SavedPartition = record("HoodieSavepointPartitionMetadata", required("partitionPath", Str),
    required("savepointDataFile", array(Str)))
  private val Saved = record("HoodieSavepointMetadata", required("partitionMetadata", map(SavedPartition)))

  /** @param files that it retains, by partition path */
  def savepoint(files: Map[String, Seq[String]]): Array[Byte] =
    encode(build(Saved,
        "partitionMetadata" -> files.map { case (partition, names) =>
          partition -> build(SavedPartition, "partitionPath" -> partition, "savepointDataFile" -> names)
        }))
}
