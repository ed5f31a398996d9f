package io.merganser.table.timeline

import org.apache.avro.Schema

/** The fields of a write's statistics in files: one list for Avro and for the JSON of version 6. */
private[timeline] object WriteStatFields {

  import AvroRecords._
  import AvroRecordType.Described

  private type Positioned = (Int, RecordField[WriteStat])

  private def at(position: Int, name: String, of: Schema, value: WriteStat => Any): Positioned =
    (position, optional(name, of).from(value))

  private val RuntimeStats: Schema =
    record("HoodieRuntimeStats", Seq("totalScanTime", "totalCreateTime", "totalUpsertTime").map(optional(_, Lng)): _*)

  /** The fields of both forms in the order of JSON, with their positions in Avro's record. */
  private val common: Seq[Positioned] = Seq(
    at(0, "fileId", Str, _.fileId),
    at(1, "path", Str, _.path),
    at(2, "prevCommit", Str, _.prevCommit),
    at(3, "numWrites", Lng, _.numWrites),
    at(4, "numDeletes", Lng, _.numDeletes),
    at(5, "numUpdateWrites", Lng, _.numUpdateWrites),
    at(12, "numInserts", Lng, _.numInserts),
    at(6, "totalWriteBytes", Lng, _.totalWriteBytes),
    at(7, "totalWriteErrors", Lng, _.totalWriteErrors),
    at(8, "partitionPath", Str, _.partitionPath),
    at(16, "fileSizeInBytes", Lng, _.fileSizeInBytes),
    at(9, "totalLogRecords", Lng, _.totalLogRecords),
    at(10, "totalLogFiles", Lng, _.totalLogFiles),
    at(11, "totalUpdatedRecordsCompacted", Lng, _.totalUpdatedRecordsCompacted),
    at(13, "totalLogBlocks", Lng, _.totalLogBlocks),
    at(14, "totalCorruptLogBlock", Lng, _.totalCorruptLogBlocks),
    at(15, "totalRollbackBlocks", Lng, _.totalRollbackBlocks),
    at(21, "cdcStats", map(Lng), stat => Some(stat.cdcStats).filter(_.nonEmpty)),
    at(22, "prevBaseFile", Str, _.prevBaseFile),
    at(23, "minEventTime", Lng, _.minEventTime),
    at(24, "maxEventTime", Lng, _.maxEventTime)
  )

  /** Fields that JSON has not, or only for log files. */
  private val ofAvro: Seq[Positioned] = Seq(
    at(17, "logVersion", Int, _.logVersion),
    at(18, "logOffset", Lng, stat => stat.logOffset.orElse(stat.logVersion.map(_ => 0L))),
    at(19, "baseFile", Str, _.baseFile),
    at(20, "logFiles", array(Str), stat => Some(stat.logFiles).filter(_.nonEmpty)),
    at(25, "runtimeStats", RuntimeStats, _ => None),
    at(26, "totalLogFilesCompacted", Lng, _.totalLogFilesCompacted),
    at(27, "totalLogReadTimeMs", Lng, _.totalLogReadTimeMs),
    at(28, "totalLogSizeCompacted", Lng, _.totalLogSizeCompacted),
    at(29, "tempPath", Str, _ => None),
    at(30, "numUpdates", Lng, _ => None)
  )

  val Avro: AvroRecordType[WriteStat] =
    new AvroRecordType("HoodieWriteStat", (common ++ ofAvro).sortBy(_._1).map(_._2): _*)

  /** The names of JSON with their values, without those of log files. */
  def ofJson(stat: WriteStat): Seq[(String, Any)] = common.map { case (_, field) => field.name -> field.value(stat) }

  /** @param partition whose statistics it is among, in case it does not name it */
  def read(partition: String, fields: NamedFields): WriteStat = WriteStat(
    fileId = fields.string("fileId").getOrElse(""),
    path = fields.string("path").getOrElse(""),
    prevCommit = fields.string("prevCommit").getOrElse(WriteStat.NoPrevCommit),
    numWrites = fields.long("numWrites"),
    numInserts = fields.long("numInserts"),
    numUpdateWrites = fields.long("numUpdateWrites"),
    numDeletes = fields.long("numDeletes"),
    fileSizeInBytes = fields.long("fileSizeInBytes"),
    totalWriteBytes = fields.long("totalWriteBytes"),
    partitionPath = fields.string("partitionPath").getOrElse(partition),
    logVersion = fields.optionalLong("logVersion").map(_.toInt).filter(_ > 0),
    logOffset = fields.optionalLong("logOffset"),
    baseFile = fields.string("baseFile"),
    logFiles = fields.strings("logFiles"),
    prevBaseFile = fields.string("prevBaseFile"),
    cdcStats = fields.longMap("cdcStats"),
    totalWriteErrors = fields.long("totalWriteErrors"),
    totalLogRecords = fields.long("totalLogRecords"),
    totalLogFiles = fields.long("totalLogFiles"),
    totalLogBlocks = fields.long("totalLogBlocks"),
    totalCorruptLogBlocks = fields.long("totalCorruptLogBlock"),
    totalRollbackBlocks = fields.long("totalRollbackBlocks"),
    totalUpdatedRecordsCompacted = fields.long("totalUpdatedRecordsCompacted"),
    totalLogFilesCompacted = fields.long("totalLogFilesCompacted"),
    totalLogReadTimeMs = fields.long("totalLogReadTimeMs"),
    totalLogSizeCompacted = fields.long("totalLogSizeCompacted"),
    minEventTime = fields.optionalLong("minEventTime"),
    maxEventTime = fields.optionalLong("maxEventTime")
  )
}
