package io.merganser.table.service

import io.merganser.table.commit.LockedTable
import io.merganser.table.file.{FileNames, PartitionMetadata}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.slice.TableView
import io.merganser.table.storage.{MemoryFile, Parallel, Storage}
import io.merganser.table.timeline.Timeline
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.util.Properties

import scala.collection.JavaConverters._

/**
 * A folder with data files.
 *
 * @param hasMetadata whether it had a partition metadata file
 * @param isRepaired  whether it got one
 */
final case class PartitionFolder(path: String, hasMetadata: Boolean, isRepaired: Boolean)

/**
 * The forms of a partition's metadata.
 *
 * @param hasText    whether it had the text file
 * @param hasParquet whether it had the Parquet file
 * @param isMigrated whether it was changed, or would be
 */
final case class PartitionForm(path: String, hasText: Boolean, hasParquet: Boolean, isMigrated: Boolean)

/** Repairs of `.hoodie_partition_metadata`: without one, readers of all engines ignore a folder. */
final class PartitionRepair(
    storage: Storage,
    access: TableAccess = TableAccess()
) {
  import PartitionRepair._

  /**
   * Adds the missing ones. A folder gets one only if a commit names one of its data files: copies of a partition's
   * files in another folder would otherwise become rows.
   *
   * @param dryRun changes nothing
   * @return every folder with data files, and every partition
   */
  def add(dryRun: Boolean): Seq[PartitionFolder] = if (dryRun) folders.map(toFolder(_, isRepaired = false))
  else locked { config =>
    folders.map { found =>
      val instant = if (found.hasMetadata) None else found.instant
      instant.foreach(write(config, found.path, _))
      toFolder(found, instant.isDefined)
    }
  }

  /**
   * Replaces text files by Parquet files, and sets the table's property for them. An interrupted migration leaves one
   * of the two in each partition; the next one completes it.
   */
  def migrate(dryRun: Boolean): Seq[PartitionForm] =
    if (dryRun) forms(TableConfig.load(storage))
    else locked { config =>
      val found = forms(config)
      Parallel.map(found, "write partition metadata") { form =>
        val text    = FileNames.path(form.path, PartitionMetadata.Name)
        val parquet = FileNames.path(form.path, PartitionMetadata.ParquetName)
        if (!form.hasParquet)
          storage.createNew(parquet, bytes(form.path, instantIn(text).getOrElse(newest(config))))
        if (form.hasText) storage.delete(text)
      }
      TableConfig.updateUnderLock(storage, _ + (UsesParquet -> "true"))
      found
    }

  private def locked[T](work: TableConfig => T): T =
    LockedTable.repaired(storage, access)(table => work(table.config))

  private def toFolder(found: Found, isRepaired: Boolean) = PartitionFolder(found.path, found.hasMetadata, isRepaired)

  private def write(config: TableConfig, path: String, instant: String): Unit =
    if (config.properties.get(UsesParquet).exists(_.trim.equalsIgnoreCase("true")))
      storage.createNew(FileNames.path(path, PartitionMetadata.ParquetName), bytes(path, instant))
    else PartitionMetadata.write(storage, path, instant)

  private def folders: Seq[Found] = {
    val config   = TableConfig.load(storage)
    val timeline = Timeline.load(storage, config)
    val listed   = below(Seq(""))
    val open     = listed.filterNot(_._3)
    val names    = new NamedFiles(storage, config, timeline)(open.flatMap(_._2).flatMap(FileNames.instant(_)).toSet)
    listed.filter(l => l._3 || l._2.nonEmpty).map { case (folder, files, hasMetadata) =>
      val own = if (hasMetadata) Nil
      else files.flatMap(FileNames.instant(_)).distinct.filter(instant =>
        names.get(instant).exists {
          case Named.Files(paths) => paths.exists(path => path.take(path.lastIndexOf('/').max(0)) == folder)
          case _                  => false
        })
      Found(folder, hasMetadata, own.reduceOption((a, b) => if (a < b) a else b))
    }.sortBy(_.path)
  }

  /** Folders with their data files and whether they are partitions; a table without partitions has one folder. */
  private def below(level: Seq[String]): Seq[(String, Seq[String], Boolean)] = if (level.isEmpty) Nil
  else {
    val listed = Parallel.map(level, "list folders") { folder =>
      val (folders, files) = storage.list(folder).partition(_.isDirectory)
      val names            = files.map(_.getPath.getName)
      val deeper = folders.map(_.getPath.getName).filter(PartitionMetadata.mayContainPartitions).map(FileNames.path(
          folder, _))
      ((folder, names.filter(FileNames.fileId(_).isDefined), names.exists(PartitionMetadata.isMetadata)), deeper)
    }
    val isWhole = listed.exists { case ((folder, _, hasMetadata), _) => folder.isEmpty && hasMetadata }
    listed.map(_._1) ++ (if (isWhole) Nil else below(listed.flatMap(_._2)))
  }

  private def forms(config: TableConfig): Seq[PartitionForm] = {
    val partitions = new TableView(storage, config, Timeline.load(storage, config)).partitions
    Parallel.map(partitions, "list partitions") { partition =>
      val names                 = storage.list(partition).map(_.getPath.getName).toSet
      val (hasText, hasParquet) = (names(PartitionMetadata.Name), names(PartitionMetadata.ParquetName))
      PartitionForm(partition, hasText, hasParquet, isMigrated = hasText || !hasParquet)
    }
  }

  private def instantIn(text: String): Option[String] = storage.status(text).flatMap { _ =>
    val properties = new Properties
    properties.load(new ByteArrayInputStream(storage.read(text)))
    Option(properties.getProperty(PartitionMetadata.CommitTime)).map(_.trim).filter(_.nonEmpty)
  }

  private def newest(config: TableConfig): String =
    Timeline.load(storage, config).completed.lastOption.fold("0")(_.requested)

  private def bytes(path: String, instant: String): Array[Byte] = {
    val file = new MemoryFile(PartitionMetadata.ParquetName)
    val writer = ExampleParquetWriter.builder(file).withConf(storage.conf).withType(Schema)
      .withExtraMetaData(PartitionMetadata.content(path, instant).toMap.asJava).build()
    writer.close()
    val out = new ByteArrayOutputStream()
    file.writeTo(out)
    out.toByteArray
  }
}

private object PartitionRepair {

  val UsesParquet = "hoodie.partition.metafile.use.base.format"

  /** @param instant of the oldest commit that names a file of the folder */
  final case class Found(path: String, hasMetadata: Boolean, instant: Option[String])

  /** The content is in the footer; a file must have a column. */
  val Schema: MessageType = MessageTypeParser.parseMessageType("message dummy { optional int64 dummyint; }")
}
