package io.merganser.table.timeline

/**
 * What a clean deletes, by its plan, or deleted, by its metadata.
 *
 * @param earliest the oldest instant whose files stay, with all later ones; none under a policy that counts file versions
 * @param files    partition path to the names of the files deleted
 */
final case class Cleaned(earliest: Option[String], files: Map[String, Seq[String]])

private[timeline] object Cleaned {

  import AvroRecords._

  /** Of a clean whose process ended before it wrote down anything. */
  private val Nothing = Cleaned(None, Map.empty)

  /** Of a clean that completed. */
  def ofMetadata(bytes: Array[Byte]): Cleaned = if (bytes.isEmpty) Nothing
  else {
    val metadata = AvroRecords.decode(bytes)
    val files = metadata.recordMap("partitionMetadata").map { case (partition, cleaned) =>
      val lists = Seq("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles").flatMap(cleaned.strings(_))
      partition -> lists.map(nameOf).distinct
    }
    Cleaned(metadata.string("earliestCommitToRetain").filter(_.nonEmpty), files)
  }

  /** Of a clean that is pending: what it has not deleted yet, it may delete at any moment. */
  def ofPlan(bytes: Array[Byte]): Cleaned = if (bytes.isEmpty) Nothing
  else {
    val plan   = AvroRecords.decode(bytes)
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
