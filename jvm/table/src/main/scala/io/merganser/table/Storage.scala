package io.merganser.table

import java.io.{FileNotFoundException, IOException, ObjectInputStream, ObjectOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{FileSystemException, Files, NoSuchFileException, StandardCopyOption, StandardOpenOption}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  ChecksumFileSystem,
  FileAlreadyExistsException,
  FileStatus,
  FileSystem,
  LocalFileSystem,
  Path,
  RawLocalFileSystem
}

import scala.util.control.NonFatal

/**
 * A table's place and the way to it. Names are relative to the table's base path and use '/'; "" is the base itself.
 *
 * Serializable: the configuration travels along, the file system is opened again on the other side.
 */
final class Storage private (val basePath: Path, configuration: Storage.TravellingConfiguration) extends Serializable {

  def this(basePath: Path, conf: Configuration) =
    this(basePath.getFileSystem(conf).makeQualified(basePath), new Storage.TravellingConfiguration(conf))

  def conf: Configuration = configuration.value

  @transient lazy val fs: FileSystem = basePath.getFileSystem(conf)

  /** Not `new Path(base, relative)`: that rejects a ':' in the first name. */
  def path(relative: String): Path = if (relative.isEmpty) basePath else new Path(s"$basePath/$relative")

  def exists(relative: String): Boolean = fs.exists(path(relative))

  def status(relative: String): Option[FileStatus] =
    try Some(fs.getFileStatus(path(relative)))
    catch { case _: FileNotFoundException => None }

  /** @throws java.io.FileNotFoundException if there is no such file */
  def read(relative: String): Array[Byte] = Storage.readFully(fs, path(relative))

  def readText(relative: String): String = new String(read(relative), UTF_8)

  /**
   * Reads past the checksum files that Hadoop's local file system keeps, which are wrong once another program has written.
   * For files that carry a checksum of their own.
   */
  private[table] def readUnverified(relative: String): Array[Byte] =
    if (isLocal)
      try Files.readAllBytes(localFile(relative))
      catch { case _: NoSuchFileException => throw new FileNotFoundException(path(relative).toString) }
    else
      fs match {
        case checked: ChecksumFileSystem => Storage.readFully(checked.getRawFileSystem, path(relative))
        case _                           => read(relative)
      }

  /** What lies directly in a folder; nothing if there is no such folder. One listing. */
  def list(relative: String): Seq[FileStatus] =
    try fs.listStatus(path(relative)).toSeq
    catch { case _: FileNotFoundException => Nil }

  def makeFolder(relative: String): Unit =
    if (!fs.mkdirs(path(relative))) throw new IOException(s"cannot make folder ${path(relative)}")

  /**
   * Deletes a file, and the checksum file that Hadoop's local file system keeps beside it.
   *
   * @return false if there was none
   */
  def delete(relative: String): Boolean = {
    val deleted = fs.delete(path(relative), false)
    if (isLocal) Files.deleteIfExists(checksumFile(localFile(relative)))
    deleted
  }

  /** Deletes a folder with all it holds; false if there was none. */
  def deleteFolder(relative: String): Boolean = fs.delete(path(relative), true)

  /**
   * Creates a file that was not there; its whole content appears at once.
   *
   * On the local file system the name is taken atomically. Elsewhere that is up to the store's rename or create, so
   * writers that may meet hold the table lock.
   *
   * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file is there
   */
  def createNew(relative: String, bytes: Array[Byte]): Unit =
    if (isLocal) linkLocally(relative, bytes)
    else {
      if (exists(relative)) throw alreadyThere(relative)
      if (Storage.AppearsOnClose.contains(fs.getUri.getScheme)) write(path(relative), bytes, overwrite = false)
      else {
        val unpublished = path(s"${Storage.Unpublished}${UUID.randomUUID()}")
        try {
          write(unpublished, bytes, overwrite = false)
          fs.mkdirs(path(relative).getParent)
          if (!fs.rename(unpublished, path(relative))) {
            if (exists(relative)) throw alreadyThere(relative)
            throw new IOException(s"cannot rename $unpublished to ${path(relative)}")
          }
        } catch {
          case NonFatal(e) =>
            try fs.delete(unpublished, false)
            catch { case NonFatal(second) => e.addSuppressed(second) }
            throw e
        }
      }
    }

  /**
   * Creates a file that was not there, as the store's exclusive create does it: of several that try, one succeeds.
   * Others may see the file before its content.
   *
   * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file is there; other failures leave that open
   */
  def createExclusively(relative: String, bytes: Array[Byte]): Unit =
    if (isLocal) {
      // Hadoop's local create(overwrite = false) looks first and creates then.
      val file = localFile(relative)
      Files.createDirectories(file.getParent)
      Files.deleteIfExists(checksumFile(file))
      try { Files.write(file, bytes, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE); () }
      catch { case _: java.nio.file.FileAlreadyExistsException => throw alreadyThere(relative) }
    } else write(path(relative), bytes, overwrite = false)

  /** Makes an empty file, or makes it anew. */
  def touch(relative: String): Unit =
    if (isLocal) {
      val file = localFile(relative)
      Files.createDirectories(file.getParent)
      Files.write(file, Array.emptyByteArray)
      ()
    } else write(path(relative), Array.emptyByteArray, overwrite = true)

  /** Writes a file, whether it was there or not. */
  def replace(relative: String, bytes: Array[Byte]): Unit =
    if (isLocal) {
      val file        = localFile(relative)
      val unpublished = writeLocally(bytes)
      Files.deleteIfExists(checksumFile(file))
      Files.move(unpublished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
      ()
    } else write(path(relative), bytes, overwrite = true)

  override def toString: String = basePath.toString

  /** Only where nothing stands between us and the disk: a file system of somebody's own is to see every operation. */
  private def isLocal: Boolean = fs.getUri.getScheme == "file" && Storage.PlainLocal(fs.getClass.getName)

  private def localFile(relative: String): java.nio.file.Path =
    java.nio.file.Paths.get(path(relative).toUri.getPath)

  private def checksumFile(file: java.nio.file.Path): java.nio.file.Path =
    file.resolveSibling(s".${file.getFileName}.crc")

  private def linkLocally(relative: String, bytes: Array[Byte]): Unit = {
    val file = localFile(relative)
    if (Files.exists(file)) throw alreadyThere(relative)
    Files.createDirectories(file.getParent)
    val unpublished = writeLocally(bytes)
    try {
      Files.deleteIfExists(checksumFile(file))
      try Files.createLink(file, unpublished)
      catch {
        case e: java.nio.file.FileAlreadyExistsException               => throw e
        case _: UnsupportedOperationException | _: FileSystemException => Files.move(unpublished, file)
      }
      ()
    } catch {
      case _: java.nio.file.FileAlreadyExistsException => throw alreadyThere(relative)
    } finally { Files.deleteIfExists(unpublished); () }
  }

  private def writeLocally(bytes: Array[Byte]): java.nio.file.Path = {
    val file = localFile(s"${Storage.Unpublished}${UUID.randomUUID()}")
    Files.createDirectories(file.getParent)
    Files.write(file, bytes, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)
    file
  }

  private def write(file: Path, bytes: Array[Byte], overwrite: Boolean): Unit = {
    val out = fs.create(file, overwrite)
    try out.write(bytes)
    finally out.close()
  }

  private def alreadyThere(relative: String): FileAlreadyExistsException =
    new FileAlreadyExistsException(path(relative).toString)
}

object Storage {

  /** Files on their way to their name; left behind by a writer that died, swept by a later one. */
  private[table] val Unpublished = ".hoodie/.temp/unpublished-"

  /** Hive's jars bring one of their own, which takes the place of Hadoop's when it is found first. */
  private val PlainLocal = Set(classOf[LocalFileSystem].getName, classOf[RawLocalFileSystem].getName,
    "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  /** Stores where a file appears when it is closed, whole, and where a rename is a copy. */
  private val AppearsOnClose = Set("s3", "s3a", "s3n", "gs", "oss", "obs", "cosn")

  def apply(basePath: String, conf: Configuration): Storage = new Storage(new Path(basePath), conf)

  private[table] def readFully(fs: FileSystem, file: Path): Array[Byte] = {
    val in = fs.open(file)
    try {
      val out    = new java.io.ByteArrayOutputStream()
      val buffer = new Array[Byte](8192)
      var count  = in.read(buffer)
      while (count >= 0) { out.write(buffer, 0, count); count = in.read(buffer) }
      out.toByteArray
    } finally in.close()
  }

  /** A Hadoop configuration that Java serialization carries. */
  private final class TravellingConfiguration(@transient var value: Configuration) extends Serializable {
    private def writeObject(out: ObjectOutputStream): Unit = { out.defaultWriteObject(); value.write(out) }
    private def readObject(in: ObjectInputStream): Unit = {
      in.defaultReadObject()
      value = new Configuration(false)
      value.readFields(in)
    }
  }
}
