package io.merganser.table

import java.io.{ByteArrayInputStream, EOFException, FileNotFoundException, InputStream}
import java.lang.management.ManagementFactory
import java.net.URI
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FSInputStream, FileStatus, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import scala.collection.JavaConverters._

/**
 * A [[LargeTable]] beside what the local disk has at its path, under the scheme `large`. Counts calls and delays each,
 * as an object store would: a listing is one call for each thousand names.
 */
final class LargeTableFileSystem extends RawLocalFileSystem {
  import LargeTableFileSystem._

  override def getUri: URI = URI.create("large:///")

  override def getScheme: String = "large"

  override def listStatus(folder: Path): Array[FileStatus] = call("list", folder) {
    val (found, isThere) = relative(folder).flatMap { case (table, path) => table.list(path) } match {
      case Some(entries) =>
        val base = makeQualified(folder)
        val all  = entries.map { case (name, entry) => status(new Path(base, name), entry) }
        (if (removed.isEmpty) all else all.filterNot(s => removed.containsKey(s.getPath.toUri.getPath)), true)
      case None => (Nil, false)
    }
    val stored =
      try super.listStatus(folder).toSeq
      catch { case e: FileNotFoundException => if (isThere) Nil else throw e }
    val names = stored.map(_.getPath.getName).toSet
    val all   = stored ++ found.filterNot(f => names(f.getPath.getName))
    (2 to (all.size + 999) / 1000).foreach(_ => record("list", folder))
    all.toArray
  }

  override def getFileStatus(file: Path): FileStatus = call("status", file) {
    made(file).map(status(makeQualified(file), _)).getOrElse(super.getFileStatus(file))
  }

  override def exists(file: Path): Boolean = call("exists", file) {
    made(file).isDefined || (try { super.getFileStatus(file); true }
    catch { case _: FileNotFoundException => false })
  }

  override def open(file: Path, bufferSize: Int): FSDataInputStream = call("open", file) {
    made(file) match {
      case Some(_: LargeTable.Stored) =>
        super.open(new Path(relative(file).get._1.contentFile.toUri.getPath), bufferSize)
      case Some(_: LargeTable.Made) =>
        val (table, path) = relative(file).get
        new FSDataInputStream(new Bytes(table.bytes(path)))
      case _ => super.open(file, bufferSize)
    }
  }

  override def create(
      file: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = call("create", file) {
    super.create(file, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = create(file, overwrite, bufferSize, replication, blockSize, progress)

  override def rename(from: Path, to: Path): Boolean = call("rename", from)(super.rename(from, to))

  override def delete(file: Path, recursive: Boolean): Boolean = call("delete", file) {
    if (made(file).exists(_ != LargeTable.Folder)) {
      removed.put(file.toUri.getPath, true)
      true
    } else super.delete(file, recursive)
  }

  override def mkdirs(folder: Path): Boolean = call("mkdirs", folder)(super.mkdirs(folder))

  /** Without Hadoop's native library this starts a process. */
  override def setPermission(file: Path, permission: FsPermission): Unit = ()

  private def made(file: Path): Option[LargeTable.Entry] =
    if (removed.containsKey(file.toUri.getPath)) None
    else relative(file).flatMap { case (table, path) => table.find(path) }

  private def status(path: Path, entry: LargeTable.Entry): FileStatus = entry match {
    case LargeTable.Folder       => new FileStatus(0, true, 1, 0, 1, path)
    case LargeTable.Stored(size) => new FileStatus(size, false, 1, 1 << 27, 1, path)
    case LargeTable.Made(size)   => new FileStatus(size.toLong, false, 1, 1 << 27, 1, path)
  }
}

object LargeTableFileSystem {

  /**
   * One call from outside.
   *
   * @param kind     list, open, create, …
   * @param path     below the table's root
   * @param isLocked whether the table's lock was held
   * @param thread   id of the caller
   */
  final case class Call(kind: String, path: String, isLocked: Boolean, thread: Long)

  @volatile private var tables  = Seq.empty[LargeTable]
  @volatile private var delayMs = 0L
  private val removed           = new ConcurrentHashMap[String, Boolean]
  private val calls             = new ConcurrentLinkedQueue[Call]
  private val running           = new AtomicInteger
  @volatile private var most    = 0
  @volatile private var locked  = false

  /** How the session or a Hadoop configuration names the file system. */
  val Setting: (String, String) = "fs.large.impl" -> classOf[LargeTableFileSystem].getName

  lazy val configuration: Configuration = HadoopDefaults.copy(Setting)

  def register(table: LargeTable): Unit = synchronized { tables = tables.filter(_.root != table.root) :+ table }

  def clear(): Unit = synchronized { tables = Nil; removed.clear() }

  /**
   * What the calls of a piece of work were.
   *
   * @param mostAtOnce the largest number of calls under way at one time
   * @param cpuSeconds processor time of the process, which other processes of the machine do not prolong
   */
  final case class Counted[T](
      result: T,
      calls: Seq[Call],
      mostAtOnce: Int,
      seconds: Double,
      cpuSeconds: Double
  ) {

    def count(kind: String, path: String = ".*"): Int = calls.count(c => c.kind == kind && c.path.matches(path))

    def locked: Seq[Call] = calls.filter(_.isLocked)

    /** Numbers by kind, for a message. */
    def shown: String =
      calls.groupBy(_.kind).toSeq.sortBy(_._1).map { case (k, c) => s"$k ${c.size}" }.mkString(", ")
  }

  /** Runs the body while each call takes so many milliseconds. */
  def counted[T](callMs: Long)(body: => T): Counted[T] = {
    calls.clear()
    most = 0
    delayMs = callMs
    val (started, cpu) = (System.nanoTime(), machine.getProcessCpuTime)
    try {
      val result = body
      Counted(result, calls.asScala.toList, most, (System.nanoTime() - started) / 1e9,
        (machine.getProcessCpuTime - cpu) / 1e9)
    } finally delayMs = 0
  }

  private def machine =
    ManagementFactory.getOperatingSystemMXBean.asInstanceOf[com.sun.management.OperatingSystemMXBean]

  private def relative(path: Path): Option[(LargeTable, String)] = {
    val full = path.toUri.getPath
    tables.find(t => full == t.root.toString || full.startsWith(s"${t.root}/")).map(t =>
      t -> full.drop(t.root.toString.length + 1))
  }

  private val nested: ThreadLocal[Int] = ThreadLocal.withInitial[Int](() => 0)

  /** Calls that the local file system makes of itself are none from outside. */
  private def call[T](kind: String, path: Path)(body: => T): T = {
    if (nested.get == 0) record(kind, path)
    nested.set(nested.get + 1)
    try body
    finally nested.set(nested.get - 1)
  }

  private def record(kind: String, path: Path): Unit = {
    val name = relative(path).fold(path.toUri.getPath)(_._2)
    if (name == ".hoodie/lock" && (kind == "delete" || kind == "rename")) locked = false
    calls.add(Call(kind, name, locked, Thread.currentThread.getId))
    if (name == ".hoodie/lock" && kind == "create") locked = true
    val now = running.incrementAndGet()
    synchronized(if (now > most) most = now)
    try if (delayMs > 0) Thread.sleep(delayMs)
    finally { running.decrementAndGet(); () }
  }

  /** A file in memory. */
  private final class Bytes(bytes: Array[Byte]) extends FSInputStream {
    private val in = new ByteArrayInputStream(bytes)
    private var at = 0L
    override def seek(to: Long): Unit = {
      if (to > bytes.length) throw new EOFException(s"$to of ${bytes.length} bytes")
      (in: InputStream).reset()
      in.skip(to)
      at = to
    }
    override def getPos: Long                       = at
    override def seekToNewSource(to: Long): Boolean = false
    override def read(): Int                        = { val b = in.read(); if (b >= 0) at += 1; b }
    override def read(b: Array[Byte], off: Int, len: Int): Int = {
      val n = in.read(b, off, len)
      if (n > 0) at += n
      n
    }
  }
}
