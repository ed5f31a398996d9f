package io.merganser.table

import java.io.{BufferedOutputStream, IOException, OutputStream}
import java.net.URI
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FileStatus, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import scala.collection.JavaConverters._

/** The local disk under the scheme `faulty`, with injected faults. One operation is one call from outside. */
final class FaultyFileSystem extends RawLocalFileSystem {

  import FaultyFileSystem._

  override def getUri: URI = URI.create("faulty:///")

  override def getScheme: String = "faulty"

  override def open(file: Path, bufferSize: Int): FSDataInputStream =
    operation(s"open $file")(super.open(file, bufferSize))

  override def create(
      file: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream =
    operation(s"create $file")(closing(file,
        super.create(file, overwrite, bufferSize, replication, blockSize, progress)))

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream =
    operation(s"create $file")(closing(file,
        super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress)))

  override def rename(from: Path, to: Path): Boolean = operation(s"rename $from to $to")(super.rename(from, to))

  override def delete(file: Path, recursive: Boolean): Boolean =
    operation(s"delete $file")(super.delete(file, recursive))

  override def listStatus(file: Path): Array[FileStatus] = operation(s"list $file")(super.listStatus(file))

  override def mkdirs(file: Path): Boolean = operation(s"mkdirs $file")(super.mkdirs(file))

  override def mkdirs(file: Path, permission: FsPermission): Boolean =
    operation(s"mkdirs $file")(super.mkdirs(file, permission))

  override def exists(file: Path): Boolean = operation(s"exists $file")(super.exists(file))

  override def getFileStatus(file: Path): FileStatus = operation(s"status $file")(super.getFileStatus(file))

  /** Without Hadoop's native library this starts a process. */
  override def setPermission(file: Path, permission: FsPermission): Unit = ()

  /** Each full buffer is an operation, and so is closing: a file whose close fails is truncated. */
  private def closing(file: Path, out: FSDataOutputStream): FSDataOutputStream =
    if (nested.get > 1) out
    else
      new FSDataOutputStream(
        new BufferedOutputStream(new OutputStream {
          private var isOpen               = true
          override def write(b: Int): Unit = operation(s"write $file")(out.write(b))
          override def write(b: Array[Byte], off: Int, len: Int): Unit =
            operation(s"write $file")(out.write(b, off, len))
          override def close(): Unit = if (isOpen) { isOpen = false; operation(s"close $file")(out.close()) }
        }),
        null
      )
}

object FaultyFileSystem {

  sealed trait Fault
  case object Before extends Fault // the operation has no effect
  case object After extends Fault // it takes effect, and fails all the same
  case object Dead extends Fault // from this operation on nothing takes effect

  private val count                    = new AtomicInteger
  @volatile private var failAt         = 0
  @volatile private var fault: Fault   = Before
  @volatile private var failed         = Option.empty[String]
  @volatile private var hook           = (_: String) => ()
  private val waiting                  = new ConcurrentHashMap[String, Boolean]
  private val nested: ThreadLocal[Int] = ThreadLocal.withInitial[Int](() => 0)

  /** Configuration in which the scheme is registered. */
  def configuration: Configuration = {
    val conf = new Configuration()
    conf.set("fs.faulty.impl", classOf[FaultyFileSystem].getName)
    conf
  }

  /** Runs the body while the nth operation fails, counted from 1. @return its result, and the operation that failed */
  def failing[T](n: Int, how: Fault)(body: => T): (Either[Throwable, T], Option[String]) = {
    count.set(0)
    failed = None
    fault = how
    failAt = n
    try {
      val result =
        try Right(body)
        catch { case scala.util.control.NonFatal(e) => Left(e) }
      (result, failed)
    } finally failAt = 0
  }

  /**
   * Runs the body while, for each pattern, the first operation that matches it fails.
   *
   * @return the patterns that no operation matched
   */
  def failingFirst(patterns: String*)(body: => Any): Seq[String] = {
    patterns.foreach(pattern => waiting.put(pattern, true))
    try {
      body
      waiting.keySet.asScala.toSeq
    } finally waiting.clear()
  }

  /** Runs the body, and an action right before the first of its operations that a pattern matches. */
  def interrupting[T](pattern: String)(other: => Any)(body: => T): T = {
    val isLeft = new AtomicBoolean(true)
    hook = what => if (what.matches(pattern) && isLeft.compareAndSet(true, false)) { other; () }
    try {
      val result = body
      assert(!isLeft.get, s"no operation matched $pattern")
      result
    } finally hook = _ => ()
  }

  /** Runs the body while a listener observes all its operations. */
  def watching[T](listener: String => Unit)(body: => T): T = {
    hook = listener
    try body
    finally hook = _ => ()
  }

  /** How many operations the body takes. */
  def operations(body: => Any): Int = {
    failing(Int.MaxValue, Before)(body)._1.fold(e => throw e, identity)
    count.get
  }

  private def operation[T](what: String)(body: => T): T = {
    if (nested.get == 0) hook(what)
    nested.set(nested.get + 1)
    try {
      if (nested.get > 1) body
      else if (failAt == 0) {
        if (waiting.keySet.asScala.exists(pattern => what.matches(pattern) && waiting.remove(pattern)))
          throw new IOException(s"injected: $what")
        body
      } else {
        val number = count.incrementAndGet()
        def fail() = throw new IOException(s"injected: $what")
        if (number >= failAt && failed.isEmpty) failed = Some(s"$number: $what")
        fault match {
          case Before => if (number == failAt) fail() else body
          case Dead   => if (number >= failAt) fail() else body
          case After  => val result = body; if (number == failAt) fail() else result
        }
      }
    } finally nested.set(nested.get - 1)
  }
}
