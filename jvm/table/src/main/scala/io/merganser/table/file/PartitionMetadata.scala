package io.merganser.table.file

import java.nio.charset.StandardCharsets.ISO_8859_1

import io.merganser.table.storage.Storage
import org.apache.hadoop.fs.FileAlreadyExistsException

/** The file that makes a folder a partition; a folder without it is not looked into by other engines. */
object PartitionMetadata {

  val Name = ".hoodie_partition_metadata"

  private val Names = Set(Name, s"$Name.parquet", s"$Name.orc")

  /** Folders of the format and of file systems; any other may be a partition, for a partition's value may begin with a dot. */
  private val Foreign = Set(".hoodie", ".snapshot", ".Trash") ++ Names

  /** Whether partitions are looked for in a folder of this name. */
  private[table] def mayLieIn(folderName: String): Boolean = !Foreign(folderName)

  /** Levels of a partition path that no folder can have, or in which no partition would be found. Each begins with a dot. */
  def isReserved(level: String): Boolean =
    !mayLieIn(level) || level == "." || level == ".." || (level.startsWith(".") && level.endsWith(
      ".crc")) // Hadoop hides these

  private[table] def isMetadata(fileName: String): Boolean = Names(fileName)

  /**
   * Writes it if the folder has none.
   *
   * @param instant requested time of the write that makes the partition
   */
  def write(storage: Storage, partitionPath: String, instant: String): Unit =
    if (!Names.exists(name => storage.exists(FileNames.path(partitionPath, name)))) {
      val depth = if (partitionPath.isEmpty) 0 else partitionPath.split('/').length
      val text  = s"#partition metadata\ncommitTime=$instant\npartitionDepth=$depth\n"
      try storage.createNew(FileNames.path(partitionPath, Name), text.getBytes(ISO_8859_1))
      catch { case _: FileAlreadyExistsException => () } // another writer made the partition
    }
}
