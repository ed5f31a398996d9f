package io.merganser.table.storage

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{
  AccessDeniedException,
  FileSystemException,
  Files,
  NoSuchFileException,
  StandardCopyOption,
  StandardOpenOption
}
import java.util.UUID

import io.merganser.merge.MerganserException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  ChecksumFileSystem,
  EtagSource,
  FSDataOutputStream,
  FileAlreadyExistsException,
  FileContext,
  FileStatus,
  FileSystem,
  Options,
  Path
}

import scala.util.control.NonFatal

/**
 * A table's location and its file system. Names are relative to the table's base path and use '/'; "" is the base
 * itself.
 *
 * Serializable: the configuration is serialized, and the file system is opened again after deserialization.
 */
final class Storage private (val basePath: Path, configuration: SerializableConf) extends Serializable {

  def this(basePath: Path, conf: Configuration) =
    this(StorageFailure.opening(basePath)(basePath.getFileSystem(conf).makeQualified(basePath)),
      new SerializableConf(conf))

  def conf: Configuration = configuration.value

  @transient lazy val fs: FileSystem = LocalFiles.fileSystem(basePath, conf)

  /**
   * The same for every path of the location: symbolic links of the local disk, `s3`, `s3a` and `s3n`, viewfs mounts, a
   * host with and without its port. The key of everything that this process caches per table.
   */
  lazy val identity: String = Storage.identityOf(fs, basePath, conf)

  /**
   * Not `new Path(base, relative)`: that rejects a ':' in the first name.
   *
   * @throws MerganserException PATH_OUTSIDE_TABLE: names come from files that others may have written or damaged
   */
  def path(relative: String): Path = {
    if (relative.contains("..") && relative.split('/').contains(".."))
      throw MerganserException("PATH_OUTSIDE_TABLE", "path" -> basePath, "file" -> relative)
    if (relative.isEmpty) basePath else new Path(s"$basePath/$relative")
  }

  def exists(relative: String): Boolean = fs.exists(path(relative))

  def status(relative: String): Option[FileStatus] =
    try Some(fs.getFileStatus(path(relative)))
    catch { case _: FileNotFoundException => None }

  /** @throws java.io.FileNotFoundException if there is no such file */
  def read(relative: String): Array[Byte] = Storage.readFully(fs, path(relative))

  def readText(relative: String): String = new String(read(relative), UTF_8)

  /**
   * Bypasses the checksum files of Hadoop's local file system, which are wrong once another program has written the
   * file. For files with a checksum of their own.
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

  /** The direct children of a folder; none if there is no such folder. One listing. */
  def list(relative: String): Seq[FileStatus] =
    try fs.listStatus(path(relative)).toSeq
    catch {
      case _: FileNotFoundException                                       => Nil
      case e: IOException if Storage.mayBeRemoved(e) && !exists(relative) => Nil
    }

  /** On the local file system without the process that Hadoop starts to set the permissions of each folder. */
  def makeFolder(relative: String): Unit =
    if (isLocal) {
      // Java's own call fails where the folder is there as a symbolic link.
      val folder = localFile(relative)
      try if (!Files.isDirectory(folder)) { Files.createDirectories(folder); () }
      catch { case e: IOException => throw new StorageFailure.FolderNotMade(path(relative), e) }
    } else if (!fs.mkdirs(path(relative))) throw new StorageFailure.FolderNotMade(path(relative), null)

  /**
   * Deletes a file, and the checksum file that Hadoop's local file system writes beside it.
   *
   * @return false if there was none
   */
  def delete(relative: String): Boolean = {
    val deleted = fs.delete(path(relative), false)
    if (isLocal) Files.deleteIfExists(checksumFile(localFile(relative)))
    deleted
  }

  /** Deletes a folder with its contents; false if there was none. */
  def deleteFolder(relative: String): Boolean = fs.delete(path(relative), true)

  /**
   * Creates a new file; its whole content becomes visible at once.
   *
   * On the local file system the name is created atomically. Elsewhere that depends on the store's rename or create, so
   * concurrent writers hold the table lock.
   *
   * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file exists
   */
  def createNew(relative: String, bytes: Array[Byte]): Unit = createNew(relative, bytes, makesFolder = true)

  /** As [[createNew]], in a folder that has had a file: it need not be made where files are renamed. */
  private[table] def createNewBesideOthers(relative: String, bytes: Array[Byte]): Unit =
    createNew(relative, bytes, makesFolder = false)

  private def createNew(relative: String, bytes: Array[Byte], makesFolder: Boolean): Unit = {
    val appearsOnClose = Storage.AppearsOnClose.contains(fs.getUri.getScheme)
    // Where it fails if the file exists, and shows no half of the content: an empty file has no halves.
    def isOneStep = if (appearsOnClose) createsExclusively() else bytes.isEmpty
    if (isLocal) linkLocally(relative, bytes) { (unpublished, file) => Files.move(unpublished, file); () }
    else if (createsConditionally) writeConditionally(path(relative), bytes)
    else if (isOneStep) write(path(relative), bytes, overwrite = false)
    else if (exists(relative)) throw alreadyThere(relative)
    else if (appearsOnClose) write(path(relative), bytes, overwrite = false)
    else renameToNew(relative, bytes, makesFolder)
  }

  private def renameToNew(relative: String, bytes: Array[Byte], makesFolder: Boolean): Unit =
    unpublished(bytes) { written =>
      if (makesFolder) fs.mkdirs(path(relative).getParent)
      if (!fs.rename(written, path(relative))) {
        if (exists(relative)) throw alreadyThere(relative)
        throw new IOException(s"cannot rename $written to ${path(relative)}")
      }
    }

  /** Writes a file under a name that nobody reads, for `publish` to rename; removes it if that fails. */
  private def unpublished(bytes: Array[Byte])(publish: Path => Unit): Unit = {
    val file = path(s"${Storage.Unpublished}${UUID.randomUUID()}")
    try {
      write(file, bytes, overwrite = false)
      publish(file)
    } catch {
      case NonFatal(e) =>
        try fs.delete(file, false)
        catch { case NonFatal(second) => e.addSuppressed(second) }
        throw e
    }
  }

  /**
   * Whether exactly one of several processes that create a file concurrently succeeds, and the others fail.
   *
   * @param alsoSchemes further stores that the user has configured as exclusive
   */
  def createsExclusively(alsoSchemes: Set[String] = Set.empty): Boolean = {
    val scheme = fs.getUri.getScheme
    isLocal || alsoSchemes(scheme) || Storage.CreatesExclusively(scheme) || createsConditionally ||
    Storage.mounted(fs, basePath, conf).exists(_.createsExclusively(alsoSchemes))
  }

  /** Whether the store can create a file on the condition that none exists, as S3A does from Hadoop 3.4.2 on. */
  @transient private lazy val createsConditionally: Boolean =
    try fs.hasPathCapability(basePath, Storage.ConditionalCreate)
    catch { case NonFatal(_) => false }

  /**
   * Creates a new file by the strongest means of the store; see [[createsExclusively]]. On the local file system, in
   * HDFS and in S3 it becomes visible with its content, elsewhere others may see it earlier.
   *
   * @throws org.apache.hadoop.fs.FileAlreadyExistsException if the file exists; after other failures it is unknown
   *                                                         whether it exists, and who created it
   */
  def createExclusively(relative: String, bytes: Array[Byte]): Unit =
    if (isLocal)
      linkLocally(relative, bytes) { (_, file) =>
        Files.write(file, bytes, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE); ()
      }
    else if (createsConditionally) writeConditionally(path(relative), bytes)
    else if (!renamesAtomically) write(path(relative), bytes, overwrite = false)
    else if (exists(relative)) throw alreadyThere(relative)
    else renameToNew(relative, bytes, makesFolder = true)

  /** Whether a rename is one step that fails where the target exists, or that replaces it, as requested: HDFS. */
  @transient private lazy val renamesAtomically: Boolean =
    fs.getUri.getScheme == Storage.Hdfs || Storage.mounted(fs, basePath, conf).exists(_.renamesAtomically)

  /** Renames with replacement, which [[fs]] lacks. */
  @transient private lazy val replacing: FileContext = FileContext.getFileContext(fs.getUri, conf)

  /** Whether a file can be replaced on the condition that it has a known version, as on S3A from Hadoop 3.4.2 on. */
  @transient lazy val replacesConditionally: Boolean =
    createsConditionally && fs.hasPathCapability(basePath, Storage.ConditionalReplace)

  /** A file with its version, where the store [[replacesConditionally]]; None if there is no such file. */
  def readVersion(relative: String): Option[FileVersion] =
    try {
      val before = versionTag(relative)
      val content =
        try Some(Storage.readFully(fs, path(relative)))
        catch {
          case e: FileNotFoundException => throw e
          // S3A fails where the file is replaced while it is opened.
          case _: IOException if versionTag(relative) != before => None
        }
      content.filter(_ => versionTag(relative) == before).map(FileVersion(_, before)).orElse(readVersion(relative))
    } catch { case _: FileNotFoundException => None }

  private def versionTag(relative: String): String = fs.getFileStatus(path(relative)) match {
    case tagged: EtagSource if tagged.getEtag != null => tagged.getEtag
    case _ => throw new IOException(s"the store has no version of ${path(relative)}")
  }

  /**
   * Replaces a file that has this version; the check and the replacement are one step of the store.
   *
   * @return false if it has another version, or is gone
   * @throws IOException if it is unknown whether the file was replaced
   */
  def replaceVersion(relative: String, bytes: Array[Byte], tag: String): Boolean =
    try {
      closing(fs.createFile(path(relative)).recursive().overwrite(true).must(Storage.ConditionalReplace, tag).build(),
        bytes)
      true
    } catch {
      case e: IOException =>
        // Of a refusal as of a lost answer: the content decides.
        readVersion(relative) match {
          case Some(found) if java.util.Arrays.equals(found.content, bytes) => true
          case Some(found) if found.tag == tag                              => throw e
          case _                                                            => false
        }
    }

  /** Creates an empty file, or truncates the existing one. */
  def touch(relative: String): Unit =
    if (isLocal) {
      val file = localFile(relative)
      Files.createDirectories(file.getParent)
      Files.write(file, Array.emptyByteArray)
      ()
    } else write(path(relative), Array.emptyByteArray, overwrite = true)

  /**
   * Writes a file, whether or not it exists. On the local file system and in HDFS it has the old content or the new
   * one at any time.
   */
  def replace(relative: String, bytes: Array[Byte]): Unit =
    if (isLocal) {
      val file        = localFile(relative)
      val unpublished = writeLocally(bytes)
      Files.deleteIfExists(checksumFile(file))
      Files.move(unpublished, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
      ()
    } else if (renamesAtomically)
      unpublished(bytes)(replacing.rename(_, path(relative), Options.Rename.OVERWRITE))
    else write(path(relative), bytes, overwrite = true)

  override def toString: String = basePath.toString

  /** Only for plain local file systems: a custom one must see every operation. */
  private def isLocal: Boolean = fs.getUri.getScheme == "file" && LocalFiles.Plain(fs.getClass.getName)

  private def localFile(relative: String): java.nio.file.Path =
    java.nio.file.Paths.get(path(relative).toUri.getPath)

  private def checksumFile(file: java.nio.file.Path): java.nio.file.Path =
    file.resolveSibling(s".${file.getFileName}.crc")

  /** @param unlinked what to do with the written file and its target where the disk has no links */
  private def linkLocally(
      relative: String,
      bytes: Array[Byte]
  )(unlinked: (java.nio.file.Path, java.nio.file.Path) => Unit): Unit = {
    val file = localFile(relative)
    if (Files.exists(file)) throw alreadyThere(relative)
    Files.createDirectories(file.getParent)
    val unpublished = writeLocally(bytes)
    try {
      Files.deleteIfExists(checksumFile(file))
      try Files.createLink(file, unpublished)
      catch {
        case e: java.nio.file.FileAlreadyExistsException               => throw e
        case _: UnsupportedOperationException | _: FileSystemException => unlinked(unpublished, file)
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

  private def write(file: Path, bytes: Array[Byte], overwrite: Boolean): Unit =
    closing(fs.create(file, overwrite), bytes)

  private def closing(out: FSDataOutputStream, bytes: Array[Byte]): Unit =
    try out.write(bytes)
    finally out.close()

  /**
   * The store checks for the file when it stores it: a conflict is a failure of the close. So is a request that the
   * client repeats after a lost answer, which finds the file that it has created itself; that one has our mark.
   */
  private def writeConditionally(file: Path, bytes: Array[Byte]): Unit = {
    if (fs.exists(file)) throw alreadyThere(file)
    val mark = UUID.randomUUID().toString
    try
      closing(
        fs.createFile(file).recursive().overwrite(false).must(Storage.ConditionalCreate, true)
          .opt(Storage.MarkOption, mark).build(),
        bytes)
    catch {
      case e: IOException =>
        if (!fs.exists(file)) throw e
        if (!hasMark(file, mark) && !hasContent(file, bytes)) throw alreadyThere(file).initCause(e)
    }
  }

  private def hasMark(file: Path, mark: String): Boolean =
    try Option(fs.getXAttr(file, Storage.MarkAttribute)).exists(new String(_, UTF_8) == mark)
    catch { case NonFatal(_) => false }

  /** Whether the file has this content, and it is no content that others write too. */
  private def hasContent(file: Path, bytes: Array[Byte]): Boolean =
    bytes.nonEmpty && java.util.Arrays.equals(Storage.readFully(fs, file), bytes)

  private def alreadyThere(relative: String): FileAlreadyExistsException = alreadyThere(path(relative))

  private def alreadyThere(file: Path): FileAlreadyExistsException = new FileAlreadyExistsException(file.toString)
}

/**
 * The content of a file at one time.
 *
 * @param tag the store's name of this version
 */
final case class FileVersion(content: Array[Byte], tag: String)

object Storage {

  /** Files that are not renamed yet; a writer that dies leaves them behind, and a later one removes them. */
  private[table] val Unpublished = ".hoodie/.temp/unpublished-"

  /** Stores where a file becomes visible, complete, when it is closed, and where a rename is a copy. */
  private val AppearsOnClose = Set("s3", "s3a", "s3n", "gs", "oss", "obs", "cosn")

  private val Hdfs = "hdfs"

  /** Stores whose create without overwriting is atomic. S3A's is a check and a put, unless it creates conditionally. */
  private val CreatesExclusively = Set(Hdfs, "webhdfs", "swebhdfs", "dfs", "hopsfs", "abfs", "abfss", "gs")

  /** The name of a create on the condition that the file does not exist, in createFile and hasPathCapability. */
  private val ConditionalCreate = "fs.option.create.conditional.overwrite"

  /** A header of S3's objects with the mark of the write that created one; other stores ignore the option. */
  private val Mark          = "merganser-created-by"
  private val MarkOption    = s"fs.s3a.create.header.$Mark"
  private val MarkAttribute = s"header.$Mark"

  /** The name of a replacement on the condition that the file has an entity tag. */
  private val ConditionalReplace = "fs.option.create.conditional.overwrite.etag"

  private val S3Schemes = Set("s3", "s3a", "s3n")

  /** Whether this may be how Hadoop's local file system reports a folder that is removed while it lists it. */
  private def mayBeRemoved(e: IOException): Boolean =
    e.isInstanceOf[AccessDeniedException] || e.getClass == classOf[IOException]

  private def identityOf(fs: FileSystem, path: Path, conf: Configuration): String = {
    val uri    = path.toUri
    val scheme = fs.getUri.getScheme
    if (scheme == "file") s"file:${realPath(java.nio.file.Paths.get(uri.getPath).toAbsolutePath.normalize)}"
    else if (S3Schemes(scheme)) s"s3://${uri.getAuthority}${uri.getPath}"
    else
      mounted(fs, path, conf).map(_.identity).getOrElse {
        // For a name node: its address with the port, or the name of the service.
        val service =
          if (scheme == Hdfs) scala.util.Try(Option(fs.getCanonicalServiceName)).toOption.flatten else None
        s"$scheme://${service.orElse(Option(uri.getAuthority)).getOrElse("")}${uri.getPath}"
      }
  }

  /** An existing path may be a link; one that does not exist yet is resolved by its nearest existing parent. */
  private def realPath(path: java.nio.file.Path): java.nio.file.Path =
    if (path.getParent == null) path
    else
      try path.toRealPath()
      catch { case _: java.io.IOException => realPath(path.getParent).resolve(path.getFileName) }

  /** The target of a viewfs mount. */
  private def mounted(fs: FileSystem, path: Path, conf: Configuration): Option[Storage] = {
    def resolve(path: Path): Option[Path] =
      try Some(fs.resolvePath(path))
      catch { case _: FileNotFoundException => Option(path.getParent).flatMap(resolve).map(new Path(_, path.getName)) }
    if (!fs.getClass.getName.startsWith("org.apache.hadoop.fs.viewfs.")) None
    else resolve(path).filter(_.toUri != path.toUri).map(found => new Storage(found, conf))
  }

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
}
