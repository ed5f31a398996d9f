package io.merganser.table.storage

import java.io.IOException
import java.net.{ConnectException, NoRouteToHostException, UnknownHostException}
import java.nio.file.{AccessDeniedException, InvalidPathException, NotDirectoryException}

import io.merganser.merge.{Causes, MerganserException}
import org.apache.hadoop.fs.{ParentNotDirectoryException, Path, UnsupportedFileSystemException}
import org.apache.hadoop.security.AccessControlException
import org.apache.hadoop.util.VersionInfo

import scala.util.control.NonFatal

/**
 * What a failure of a file system means to the user, where it is one that they can correct. How Java and
 * Hadoop report these is written here alone; any other failure stays as it is.
 */
object StorageFailure {

  /** A folder that cannot be made, and neither permissions nor space are the reason. */
  private[storage] final class FolderNotMade(folder: Path, cause: Throwable)
      extends IOException(s"cannot make folder $folder", cause)

  /**
   * Runs the work on a location.
   *
   * @throws MerganserException STORAGE_FULL, STORAGE_REFUSED in place of the failures that they describe
   */
  def explained[A](location: Any)(work: => A): A =
    try work
    catch { case NonFatal(failure) => throw of(location, failure).getOrElse(failure) }

  /**
   * The condition of a failure; None if it has none, or one of ours is among its causes.
   *
   * @param failure also that of a Spark job, whose causes are those of its task
   */
  def of(location: Any, failure: Throwable): Option[MerganserException] = {
    val causes = Causes.of(failure)
    if (causes.exists(_.isInstanceOf[MerganserException])) None
    else
      // The cause at the end is the most specific one.
      causes.reverseIterator.map(condition(location, _)).collectFirst { case Some(found) => found.causedBy(failure) }
  }

  private def condition(location: Any, cause: Throwable): Option[MerganserException] = {
    val text                = String.valueOf(cause.getMessage)
    def has(parts: String*) = parts.exists(text.contains(_))
    def refused(remedy: String) = Some(MerganserException("STORAGE_REFUSED", "path" -> location,
        "reason" -> described(cause), "remedy" -> remedy))
    cause match {
      case _ if has("No space left on device", "Disk quota exceeded", "not enough space on the disk") =>
        Some(full(location, cause))
      case _ if cause.getClass.getName.endsWith("QuotaExceededException") => Some(full(location, cause))
      case _: AccessDeniedException | _: AccessControlException =>
        refused("Give this user the right to read and write there, or correct the path")
      case _: IOException if has("Permission denied", "Read-only file system") =>
        refused("Give this user the right to read and write there, or correct the path")
      case _: NotDirectoryException | _: ParentNotDirectoryException | _: FolderNotMade =>
        refused("Correct the path: a folder can only be created in a folder that exists or can be created")
      case _: IOException if has("Not a directory") =>
        refused("Correct the path: part of it is a file")
      case _: IOException if has("File name too long") =>
        refused("Shorten the path, or the value of a partition column that became a folder's name in it")
      case _: InvalidPathException => refused("Correct the characters of the path")
      case _: UnknownHostException | _: ConnectException | _: NoRouteToHostException =>
        refused("Check host and port in the path or in the settings of its file system, and that it is running")
      case _ => None
    }
  }

  private def full(location: Any, cause: Throwable): MerganserException =
    MerganserException("STORAGE_FULL", "path" -> location, "reason" -> described(cause))

  /** One line; a failure of a Spark job has the whole trace of its task in its message. */
  private def described(cause: Throwable): String = {
    val lines = String.valueOf(cause.getMessage).linesIterator.map(_.trim).filter(_.nonEmpty).toSeq
    s"${cause.getClass.getSimpleName}: ${lines.headOption.getOrElse("")}"
  }

  /**
   * Opens the file system of a path.
   *
   * @throws MerganserException FILE_SYSTEM_UNAVAILABLE
   */
  private[storage] def opening[A](path: Path)(work: => A): A = {
    val scheme = Option(path.toUri.getScheme).getOrElse("")
    try {
      if (OfWeb(scheme))
        throw new UnsupportedFileSystemException(s"$scheme only reads single files: it cannot list or write files")
      work
    } catch {
      case e @ (_: IOException | _: RuntimeException) if !e.isInstanceOf[MerganserException] =>
        val cause = Causes.of(e).last
        throw MerganserException("FILE_SYSTEM_UNAVAILABLE", "path" -> path, "scheme" -> scheme,
          "reason" -> described(cause), "remedy" -> advice(scheme, cause)).causedBy(e)
    }
  }

  private def advice(scheme: String, cause: Throwable): String = cause match {
    case _ if OfWeb(scheme) => "Copy the files to a disk or an object store, and give that path"
    case _: UnsupportedFileSystemException | _: ClassNotFoundException | _: NoClassDefFoundError =>
      val module = Modules.get(scheme).map(m => s"org.apache.hadoop:$m:${VersionInfo.getVersion}")
      if (ReplacedByS3a(scheme)) "Write s3a:// in its place"
      else
        module.orElse(Connectors.get(scheme)).fold(
          "Correct the scheme, or start the session with the jar of its file system in spark.jars and with " +
            s"spark.hadoop.fs.$scheme.impl set to its class; a path on the local disk begins with file:/"
        )(artifact => s"Start the session with spark.jars.packages=$artifact")
    case _: UnknownHostException => "Correct the host in the path, or in the settings of the file system"
    case _                       => s"Check the settings spark.hadoop.fs.$scheme.*"
  }

  /** Hadoop's own modules of file systems that Spark's distribution lacks. */
  private val Modules = Map("s3a" -> "hadoop-aws", "abfs" -> "hadoop-azure", "abfss" -> "hadoop-azure",
    "wasb" -> "hadoop-azure", "wasbs" -> "hadoop-azure", "adl" -> "hadoop-azure-datalake", "oss" -> "hadoop-aliyun",
    "cosn" -> "hadoop-cos", "obs" -> "hadoop-huaweicloud")

  private val Connectors = Map("gs" -> "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26")

  private val OfWeb = Set("http", "https")

  private val ReplacedByS3a = Set("s3", "s3n")
}
