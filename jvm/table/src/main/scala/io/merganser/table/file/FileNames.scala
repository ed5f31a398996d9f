package io.merganser.table.file

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Try

/** Creates and parses the names of data files. */
object FileNames {

  private val Log = """^\.([^._]+)_([^.]*)\.(?:log|archive)\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?$""".r

  /** Parts of a base file's name: file id, write token and instant, without '_' and '.'. Tables have many of them. */
  private object Base {

    private val Extension = ".parquet"

    def unapply(name: String): Option[(String, String, String)] = {
      val first  = name.indexOf('_')
      val second = name.indexOf('_', first + 1)
      val end    = name.length - Extension.length
      val isBase = 0 < first && first + 1 < second && second + 1 < end && name.endsWith(Extension) &&
        name.indexOf('.') == end && name.indexOf('_', second + 1) < 0
      if (isBase) Some((name.substring(0, first), name.substring(first + 1, second), name.substring(second + 1, end)))
      else None
    }
  }

  /**
   * @param writeToken task partition, stage and attempt, `1-0-1`: distinguishes the attempts of one task
   * @param instant    requested time of the write
   */
  def base(fileId: String, writeToken: String, instant: String): String = s"${fileId}_${writeToken}_$instant.parquet"

  /**
   * @param instant requested time of the delta commit; in version 6, the slice's base instant
   * @param version from 1 for each group and instant
   */
  def log(fileId: String, instant: String, version: Int, writeToken: String): String =
    s".${fileId}_$instant.log.${version}_$writeToken"

  /** Path relative to the table's base path. */
  def path(partitionPath: String, name: String): String = if (partitionPath.isEmpty) name else s"$partitionPath/$name"

  def parseBase(partitionPath: String, name: String, sizeBytes: Long): Option[BaseFile] = name match {
    case Base(fileId, _, instant) => Some(BaseFile(partitionPath, fileId, instant, name, sizeBytes))
    case _                        => None
  }

  /** Ends the names of change files, which are otherwise those of logs. */
  val ChangeSuffix = ".cdc"

  /** The change file of a path, as a log file; None for other files. */
  def parseChanges(path: String, sizeBytes: Long): Option[LogFile] = {
    val at = path.lastIndexOf('/')
    path.substring(at + 1) match {
      case name @ Log(fileId, instant, version, token, ChangeSuffix) =>
        Try(version.toInt).toOption.map(LogFile(path.take(math.max(0, at)), fileId, instant, _, Option(token), name,
            sizeBytes))
      case _ => None
    }
  }

  /** None for change files (`.cdc`) too: they are not part of a slice. */
  def parseLog(partitionPath: String, name: String, sizeBytes: Long): Option[LogFile] = name match {
    case Log(fileId, instant, version, token, null) =>
      Try(version.toInt).toOption.map(LogFile(partitionPath, fileId, instant, _, Option(token), name, sizeBytes))
    case _ => None
  }

  /** The path of a log without the write token, in which those of all attempts of a task are equal. */
  private[table] def anyAttempt(path: String): Option[String] = path.substring(path.lastIndexOf('/') + 1) match {
    case Log(_, _, _, token, null) => Some(if (token == null) path else path.dropRight(token.length + 1))
    case _                         => None
  }

  /**
   * Whether a commit names a file by another format's name, with a suffix that is not on storage: Apache XTable and
   * Delta UniForm describe the files of a table of theirs so.
   */
  private[table] def isExternal(path: String): Boolean = path.endsWith("_hudiext")

  def isLog(name: String): Boolean = Log.pattern.matcher(name).matches

  /** The second part of the write token of a base or log file, if the name has one. */
  private[table] def stageOf(name: String): Option[Long] = {
    def stage(token: String) =
      Option(token).flatMap(_.split('-').lift(1)).flatMap(stage => Try(stage.toLong).toOption)
    name match {
      case Base(_, token, _)      => stage(token)
      case Log(_, _, _, token, _) => stage(token)
      case _                      => None
    }
  }

  /** Requested time of the write that created a data file; for logs of version 6, their slice's base instant. */
  private[table] def instant(name: String): Option[String] = name match {
    case Base(_, _, instant)      => Some(instant)
    case Log(_, instant, _, _, _) => Some(instant)
    case _                        => None
  }

  def newFileId(): String = ofNoBucket(s"${UUID.randomUUID()}-0")

  /** One of 43 ids begins with eight digits, as that of a bucket does. */
  private def ofNoBucket(fileId: String): String = if (bucketOf(fileId).isDefined) s"a${fileId.tail}" else fileId

  private[table] def fileId(name: String): Option[String] = name match {
    case Base(fileId, _, _)      => Some(fileId)
    case Log(fileId, _, _, _, _) => Some(fileId)
    case _                       => None
  }

  /**
   * Id of a new file group that a task creates: the same in every attempt of the task.
   *
   * @param number of the task, or of the bucket, within the write
   */
  def fileIdOf(instant: String, partitionPath: String, number: Int): String =
    ofNoBucket(s"${UUID.nameUUIDFromBytes(s"$instant/$partitionPath/$number".getBytes(UTF_8))}-0")

  /** Id of the file group that is created when a new one is full: `…-1` after `…-0`, and so on. */
  def following(fileId: String, count: Int): String = s"${fileId.take(fileId.lastIndexOf('-'))}-$count"

  /** Id of a bucket's new file group; other writers find the bucket by the first eight characters. */
  def bucketFileId(bucket: Int, instant: String, partitionPath: String): String =
    "%08d".formatLocal(java.util.Locale.ROOT, bucket) + fileIdOf(instant, partitionPath, bucket).drop(8)

  /**
   * Id of a bucket's new file group that several writers may create at once: the same for all of them, and for Hudi's
   * non-blocking writers.
   *
   * @param number of the bucket's earlier file groups of this form that were replaced
   */
  def sharedBucketFileId(bucket: Int, number: Int): String =
    "%08d-0000-0000-0000-000000000000-%d".formatLocal(java.util.Locale.ROOT, bucket, number)

  /** None if the id is not that of a bucket. */
  def bucketOf(fileId: String): Option[Int] =
    Some(fileId.take(8)).filter(id => id.length == 8 && id.forall(c => c >= '0' && c <= '9')).map(_.toInt)
}
