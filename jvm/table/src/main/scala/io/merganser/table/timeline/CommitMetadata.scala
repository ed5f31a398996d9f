package io.merganser.table.timeline

import io.merganser.table.file.FileGroupId
import org.apache.avro.generic.GenericRecord

/**
 * The statistics of one file of a write.
 *
 * @param fileId                 file group, with its `-<n>` suffix
 * @param path                   written file relative to the table's base path; empty if nothing was written
 * @param prevCommit             instant of the previous base file, "null" for a new group; for a log file, its own
 * @param numWrites              records in the written file
 * @param numInserts             records whose key is new
 * @param numUpdateWrites        records that replace a stored one
 * @param numDeletes             records deleted
 * @param fileSizeInBytes        size of the file after the write
 * @param totalWriteBytes        bytes written
 * @param partitionPath          "" in a table without partitions
 * @param logVersion             for a log file, the version in its name
 * @param logOffset              for a log file, the position at which the write began, in bytes
 * @param baseFile               for a log file, the name of its slice's base file, or ""
 * @param logFiles               for a log file, its name; other engines add the names of its slice's earlier log files
 * @param prevBaseFile           for a base file, the name of the one it replaces
 * @param cdcStats               change files, relative path to size in bytes
 * @param totalLogRecords        compaction: log records read
 * @param totalLogFilesCompacted compaction: log files read
 * @param minEventTime           smallest event time written, if it was tracked
 * @param maxEventTime           largest event time written, if it was tracked
 * @param checksums              for a log file of ours, those of its blocks
 */
final case class WriteStat(
    fileId: String,
    path: String,
    prevCommit: String = WriteStat.NoPrevCommit,
    numWrites: Long = 0,
    numInserts: Long = 0,
    numUpdateWrites: Long = 0,
    numDeletes: Long = 0,
    fileSizeInBytes: Long = 0,
    totalWriteBytes: Long = 0,
    partitionPath: String = "",
    logVersion: Option[Int] = None,
    logOffset: Option[Long] = None,
    baseFile: Option[String] = None,
    logFiles: Seq[String] = Nil,
    prevBaseFile: Option[String] = None,
    cdcStats: Map[String, Long] = Map.empty,
    totalWriteErrors: Long = 0,
    totalLogRecords: Long = 0,
    totalLogFiles: Long = 0,
    totalLogBlocks: Long = 0,
    totalCorruptLogBlocks: Long = 0,
    totalRollbackBlocks: Long = 0,
    totalUpdatedRecordsCompacted: Long = 0,
    totalLogFilesCompacted: Long = 0,
    totalLogReadTimeMs: Long = 0,
    totalLogSizeCompacted: Long = 0,
    minEventTime: Option[Long] = None,
    maxEventTime: Option[Long] = None,
    checksums: String = ""
) extends Serializable {

  def group: FileGroupId = FileGroupId(partitionPath, fileId)

  /** Name of the written file, without its folders. */
  def fileName: String = path.drop(path.lastIndexOf('/') + 1)

  /** Of a log file, without folders. */
  def baseFileName: Option[String] =
    baseFile.filter(_.nonEmpty && isLogFile).map(name => name.drop(name.lastIndexOf('/') + 1))

  def isLogFile: Boolean = fileName.startsWith(".")
}

object WriteStat {

  /** The value of `prevCommit` for a new file group. */
  val NoPrevCommit = "null"
}

/**
 * The metadata of a completed write.
 *
 * @param stats           partition path to the files written there
 * @param extra           "schema" is the table's Avro schema without meta columns; other keys are arbitrary
 * @param replacedFileIds for a replacecommit: partition path to the file groups that it removes
 */
final case class CommitMetadata(
    operationType: OperationType,
    stats: Map[String, Seq[WriteStat]],
    extra: Map[String, String],
    replacedFileIds: Map[String, Seq[String]] = Map.empty
) {

  /** False for services: they write the schema that they read rows with, which is not always the newest. */
  def maySetSchema: Boolean = !operationType.isService

  def schemaJson: Option[String] = extra.get("schema").filter(_.nonEmpty)

  /** JSON of the newest version of the columns, in a table that has versions of them. */
  def latestSchema: Option[String] = extra.get(CommitMetadata.LatestSchemaKey).filter(_.nonEmpty)

  def allStats: Seq[WriteStat] = stats.values.flatten.toSeq

  /** File groups written or replaced. */
  def touched: Set[FileGroupId] =
    (stats.toSeq.flatMap { case (partition, files) => files.map(f => FileGroupId(partition, f.fileId)) } ++
      replaced).toSet

  /** File groups replaced. */
  def replaced: Set[FileGroupId] =
    replacedFileIds.toSeq.flatMap { case (partition, ids) => ids.map(FileGroupId(partition, _)) }.toSet
}

object CommitMetadata {

  val LatestSchemaKey = "latest_schema"

  /** Key of the writer's name in the extra metadata of our commits. */
  val WriterKey = "merganser.writer"

  import AvroRecords._
  import AvroRecordType.Described

  private def fields = Seq[RecordField[CommitMetadata]](
    optional("partitionToWriteStats", map(array(WriteStatFields.Avro.schema)))
      .from(_.stats.map { case (partition, stats) => partition -> stats.map(WriteStatFields.Avro(_)) }),
    optional("compacted", Bool).from(_ => false),
    optional("extraMetadata", map(Str)).from(LogChecksums.add),
    version(1).from(_ => 1),
    optional("operationType", Str).from(_.operationType.name)
  )

  private val Commit = new AvroRecordType("HoodieCommitMetadata", fields: _*)

  private val Replace = new AvroRecordType[CommitMetadata]("HoodieReplaceCommitMetadata",
    fields :+ optional("partitionToReplaceFileIds", map(array(Str))).from[CommitMetadata](_.replacedFileIds): _*)

  /** The form of version 8 and later. Replacecommits have a record type of their own. */
  def encodeAvro(metadata: CommitMetadata, isReplace: Boolean): Array[Byte] =
    (if (isReplace) Replace else Commit).encode(metadata)

  /** Reads both forms: Avro, and the JSON of version 6. */
  def decode(bytes: Array[Byte]): CommitMetadata =
    if (isContainer(bytes)) decodeAvro(AvroRecords.decode(bytes)) else CommitMetadataJson.decode(bytes)

  private[timeline] def decodeAvro(record: GenericRecord): CommitMetadata = {
    requireFields(record, "partitionToWriteStats", "extraMetadata")
    LogChecksums.take(CommitMetadata(
        operationType = record.string("operationType").map(OperationType.parse).getOrElse(OperationType.Unknown),
        stats = record.recordsMap("partitionToWriteStats").map { case (partition, stats) =>
          partition -> stats.map(stat(partition, _))
        },
        extra = record.stringMap("extraMetadata"),
        replacedFileIds = record.stringsMap("partitionToReplaceFileIds")
      ))
  }

  private def stat(partition: String, record: GenericRecord): WriteStat = {
    requireFields(record, "fileId", "path", "partitionPath", "fileSizeInBytes")
    WriteStatFields.read(partition, record)
  }
}
