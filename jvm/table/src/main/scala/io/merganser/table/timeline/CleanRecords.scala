package io.merganser.table.timeline

import org.apache.avro.generic.GenericRecord

/**
 * The files that a clean will delete (from its plan) or deleted (from its metadata).
 *
 * @param earliest the oldest instant whose files are retained, with all later ones; None for policies by file versions
 * @param files    partition path to the names of the files deleted
 */
final case class Cleaned(earliest: Option[String], files: Map[String, Seq[String]])

private[table] object Cleaned {

  import AvroRecords._

  /** For a clean whose process ended before it wrote a plan or metadata. */
  private val Nothing = Cleaned(None, Map.empty)

  /** Reads the metadata of a completed clean. */
  def ofMetadata(bytes: Array[Byte]): Cleaned = if (bytes.isEmpty) Nothing else of(AvroRecords.decode(bytes))

  def of(metadata: GenericRecord): Cleaned = {
    val files = metadata.recordMap("partitionMetadata").map { case (partition, cleaned) =>
      val lists = Seq("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles").flatMap(cleaned.strings(_))
      partition -> lists.map(nameOf).distinct
    }
    Cleaned(metadata.string("earliestCommitToRetain").filter(_.nonEmpty), files)
  }

  /** Reads the plan of a pending clean, which may delete its files at any time. */
  def ofPlan(bytes: Array[Byte]): Cleaned = if (bytes.isEmpty) Nothing else ofPlan(AvroRecords.decode(bytes))

  def ofPlan(plan: GenericRecord): Cleaned = {
    val legacy = plan.stringsMap("filesToBeDeletedPerPartition")
    val paths = plan.recordsMap("filePathsToBeDeletedPerPartition").map { case (partition, files) =>
      partition -> files.flatMap(_.string("filePath"))
    }
    val files = (legacy.toSeq ++ paths.toSeq).groupBy(_._1).map { case (partition, lists) =>
      partition -> lists.flatMap(_._2).map(nameOf)
    }
    Cleaned(plan.record("earliestInstantToRetain").flatMap(_.string("timestamp")).filter(_.nonEmpty), files)
  }

  private def nameOf(path: String): String = path.drop(path.lastIndexOf('/') + 1)
}
