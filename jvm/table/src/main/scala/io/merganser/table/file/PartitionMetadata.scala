package io.merganser.table.file

import java.nio.charset.StandardCharsets.ISO_8859_1

import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileAlreadyExistsException

/** The file that makes a folder a partition; other engines ignore a folder without it. */
object PartitionMetadata {

  val Name = ".hoodie_partition_metadata"

  /** The same as a file of the base files' format, which has its content in the footer. */
  val ParquetName = s"$Name.parquet"

  private val Names = Set(Name, ParquetName, s"$Name.orc")

  /** Folders of the format and of file systems; others may be partitions, since values may begin with a dot. */
  private val Foreign = Set(".hoodie", ".snapshot", ".Trash") ++ Names

  /** Whether a folder of this name is searched for partitions. */
  private[table] def mayContainPartitions(folderName: String): Boolean = !Foreign(folderName)

  /** Whether a level of a partition path cannot be a folder, or would not be searched. Each such begins with a dot. */
  def isReserved(level: String): Boolean =
    !mayContainPartitions(level) || level == "." || level == ".." || (level.startsWith(".") && level.endsWith(
      ".crc")) // Hadoop hides these

  private[table] def isMetadata(fileName: String): Boolean = Names(fileName)

  /**
   * Writes it if the folder has none.
   *
   * @param instant requested time of the write that creates the partition
   */
  def write(storage: Storage, partitionPath: String, instant: String): Unit =
    if (!Names.exists(name => storage.exists(FileNames.path(partitionPath, name)))) {
      val lines = content(partitionPath, instant).map { case (key, value) => s"$key=$value\n" }
      val text  = lines.mkString("#partition metadata\n", "", "")
      try storage.createNew(FileNames.path(partitionPath, Name), text.getBytes(ISO_8859_1))
      catch { case _: FileAlreadyExistsException => () } // another writer created the partition
    }

  private[table] def content(partitionPath: String, instant: String): Seq[(String, String)] = Seq(
    CommitTime -> instant,
    "partitionDepth" -> (if (partitionPath.isEmpty) 0 else partitionPath.split('/').length).toString
  )

  private[table] val CommitTime = "commitTime"
}
