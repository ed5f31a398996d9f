package io.merganser.table.damage

import java.io.{ByteArrayOutputStream, EOFException, FileNotFoundException, IOException}
import java.net.URI
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, ConcurrentSkipListMap}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import scala.collection.JavaConverters._

/**
 * The files of one table in memory, at `memory:///<name>/t`. Copies share the content of files.
 *
 * @param outside paths beyond the table's folder that were touched; such an access fails
 */
final class MemoryTable(val name: String) {
  private[damage] val files   = new ConcurrentSkipListMap[String, MemoryTable.File]()
  private[damage] val folders = ConcurrentHashMap.newKeySet[String]()
  val outside                 = new ConcurrentLinkedQueue[String]()

  def put(file: String, bytes: Array[Byte], atMs: Long = MemoryTable.FilesAtMs): Unit = {
    files.put(file, new MemoryTable.File(bytes, atMs)); ()
  }

  def remove(file: String): Unit = { files.remove(file); () }

  def bytes(file: String): Array[Byte] = files.get(file).bytes

  def paths: Seq[String] = files.keySet.asScala.toVector

  def sizeBytes: Long = files.values.asScala.map(_.bytes.length.toLong).sum

  def uri: String = s"memory:///$name/t"

  def copy(name: String): MemoryTable = {
    val other = new MemoryTable(name)
    other.files.putAll(files)
    other.folders.addAll(folders)
    other
  }
}

object MemoryTable {
  final class File(val bytes: Array[Byte], val atMs: Long)

  private[damage] val FilesAtMs = 1700000000000L

  private[damage] val mounted = new ConcurrentHashMap[String, MemoryTable]()

  val configuration: Configuration = {
    val conf = new Configuration()
    conf.setClass("fs.memory.impl", classOf[MemoryFileSystem], classOf[FileSystem])
    conf
  }

  def mount(table: MemoryTable): Unit = { mounted.put(table.name, table); () }

  def unmount(table: MemoryTable): Unit = { mounted.remove(table.name); () }

  /** A folder of the local disk, without Hadoop's checksum files. */
  def ofFolder(name: String, folder: java.nio.file.Path): MemoryTable = {
    val table = new MemoryTable(name)
    val walk  = java.nio.file.Files.walk(folder)
    try
      walk.iterator.asScala.filter(file =>
        java.nio.file.Files.isRegularFile(file) && !file.toString.endsWith(".crc")).foreach { file =>
        table.put(folder.relativize(file).toString.replace('\\', '/'), java.nio.file.Files.readAllBytes(file))
      }
    finally walk.close()
    table
  }
}

/** The mounted tables; any other path is recorded as outside and refused. */
final class MemoryFileSystem extends FileSystem {
  import MemoryTable.File

  override def initialize(name: URI, conf: Configuration): Unit = { super.initialize(name, conf); setConf(conf) }

  override def getUri: URI                                    = URI.create("memory:///")
  override def getScheme: String                              = "memory"
  override def getWorkingDirectory: Path                      = new Path("memory:///")
  override def setWorkingDirectory(path: Path): Unit          = ()
  override def setPermission(p: Path, to: FsPermission): Unit = ()

  private def in[T](path: Path)(use: (MemoryTable, String) => T): T = {
    val full  = makeQualified(path).toUri.getPath
    val parts = full.split("/", 4)
    val table = if (parts.length > 1) MemoryTable.mounted.get(parts(1)) else null
    if (table == null) { // the watchdog has ended this input, or the path has left every table
      MemoryTable.mounted.values.asScala.foreach(_.outside.add(full))
      throw new IOException(s"$full is outside of every table")
    }
    if (parts.length < 3 || parts(2) != "t") {
      table.outside.add(full)
      throw new IOException(s"$full is outside the table")
    }
    use(table, if (parts.length > 3) parts(3) else "")
  }

  private def isFolder(table: MemoryTable, path: String): Boolean = path.isEmpty || table.folders.contains(path) || {
    val next = table.files.ceilingKey(s"$path/")
    next != null && next.startsWith(s"$path/")
  }

  private def status(path: Path, file: File): FileStatus =
    new FileStatus(file.bytes.length.toLong, false, 1, 1L << 20, file.atMs, makeQualified(path))

  private def folderStatus(path: Path): FileStatus =
    new FileStatus(0L, true, 0, 0L, MemoryTable.FilesAtMs, makeQualified(path))

  override def getFileStatus(path: Path): FileStatus = in(path) { (table, name) =>
    val file = table.files.get(name)
    if (file != null) status(path, file)
    else if (isFolder(table, name)) folderStatus(path)
    else throw new FileNotFoundException(path.toString)
  }

  override def listStatus(path: Path): Array[FileStatus] = in(path) { (table, name) =>
    val file = table.files.get(name)
    if (file != null) Array(status(path, file))
    else if (!isFolder(table, name)) throw new FileNotFoundException(path.toString)
    else {
      val prefix            = if (name.isEmpty) "" else s"$name/"
      def child(of: String) = of.drop(prefix.length).takeWhile(_ != '/')
      val below             = table.files.tailMap(prefix, true).asScala.takeWhile(_._1.startsWith(prefix)).toVector
      val (deeper, direct)  = below.partition(_._1.indexOf('/', prefix.length) >= 0)
      val made = table.folders.asScala.filter(f => f.startsWith(prefix) && f.length > prefix.length).toVector
      direct.map { case (of, found) => status(new Path(s"$path/${child(of)}"), found) }.toArray ++
        (deeper.map(e => child(e._1)) ++ made.map(child)).distinct.sorted.map(c => folderStatus(new Path(s"$path/$c")))
    }
  }

  override def open(path: Path, bufferBytes: Int): FSDataInputStream = in(path) { (table, name) =>
    val file = table.files.get(name)
    if (file == null) throw new FileNotFoundException(path.toString)
    new FSDataInputStream(new MemoryFileSystem.Input(file.bytes))
  }

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferBytes: Int,
      replication: Short,
      blockBytes: Long,
      progress: Progressable
  ): FSDataOutputStream = in(path) { (table, name) =>
    val created = new File(Array.emptyByteArray, System.currentTimeMillis())
    if (overwrite) table.files.put(name, created)
    else if (table.files.putIfAbsent(name, created) != null) throw new FileAlreadyExistsException(path.toString)
    val content = new ByteArrayOutputStream {
      override def close(): Unit = table.put(name, toByteArray, System.currentTimeMillis())
    }
    new FSDataOutputStream(content, null)
  }

  override def append(path: Path, bufferBytes: Int, progress: Progressable): FSDataOutputStream =
    throw new UnsupportedOperationException("append")

  override def rename(from: Path, to: Path): Boolean = in(from) { (table, name) =>
    in(to) { (_, target) =>
      val file = table.files.get(name)
      if (file == null) throw new IOException(s"$from is no file")
      val isNew = table.files.putIfAbsent(target, file) == null
      if (isNew) table.remove(name)
      isNew
    }
  }

  override def delete(path: Path, recursive: Boolean): Boolean = in(path) { (table, name) =>
    val wasFile = table.files.remove(name) != null
    if (wasFile || !isFolder(table, name)) wasFile
    else {
      val below = table.paths.filter(_.startsWith(s"$name/"))
      if (below.nonEmpty && !recursive) throw new IOException(s"$path is not empty")
      below.foreach(table.remove)
      table.folders.removeIf(f => f == name || f.startsWith(s"$name/"))
      true
    }
  }

  override def mkdirs(path: Path, permission: FsPermission): Boolean = in(path) { (table, name) =>
    if (name.nonEmpty) table.folders.add(name)
    true
  }
}

private object MemoryFileSystem {

  final class Input(bytes: Array[Byte]) extends FSInputStream {
    private[this] var position = 0

    override def read(): Int =
      if (position >= bytes.length) -1
      else {
        position += 1
        bytes(position - 1) & 0xff
      }

    override def read(target: Array[Byte], offset: Int, length: Int): Int =
      if (length == 0) 0
      else if (position >= bytes.length) -1
      else {
        val n = math.min(length, bytes.length - position)
        System.arraycopy(bytes, position, target, offset, n)
        position += n
        n
      }

    override def seek(to: Long): Unit = {
      if (to < 0 || to > bytes.length) throw new EOFException(s"byte $to of a file of ${bytes.length} bytes")
      position = to.toInt
    }

    override def getPos: Long                           = position.toLong
    override def seekToNewSource(target: Long): Boolean = false
    override def available(): Int                       = bytes.length - position
  }
}
