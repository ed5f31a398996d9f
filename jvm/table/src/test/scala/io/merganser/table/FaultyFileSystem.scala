package io.merganser.table

import java.io.{
  BufferedOutputStream,
  ByteArrayOutputStream,
  FilterOutputStream,
  IOException,
  InterruptedIOException,
  OutputStream
}
import java.net.URI
import java.nio.file.{Files, StandardCopyOption}
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  DelegateToFileSystem,
  FSDataInputStream,
  FSDataOutputStream,
  FileAlreadyExistsException,
  FileStatus,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import scala.collection.JavaConverters._

/** As [[FaultyFileSystem]], under a scheme of object stores: a file appears, complete, when it is closed. */
final class FaultyStore extends FaultyFileSystem {

  override def getUri: URI = URI.create("gs:///")

  override def getScheme: String = "gs"

  override protected def appearsOnClose: Boolean = true
}

/**
 * As [[FaultyFileSystem]], under HDFS's scheme: a created file is empty until it is closed, and a rename is one step
 * that does not replace its target.
 */
final class FaultyHdfs extends FaultyFileSystem {

  override def getUri: URI = URI.create("hdfs:///")

  override def getScheme: String = "hdfs"

  override protected def createsExclusively: Boolean = true

  override protected def move(from: Path, to: Path): Boolean =
    try {
      Files.createLink(pathToFile(to).toPath, pathToFile(from).toPath)
      Files.delete(pathToFile(from).toPath)
      true
    } catch { case _: java.nio.file.FileAlreadyExistsException => false }
}

/** HDFS's renames with replacement. */
final class FaultyHdfsContext(uri: URI, conf: Configuration)
    extends DelegateToFileSystem(uri, new FaultyHdfs, conf, "hdfs", false) {

  override def getUriDefaultPort: Int = -1

  override def renameInternal(from: Path, to: Path, replaces: Boolean): Unit =
    fsImpl.asInstanceOf[FaultyHdfs].replace(from, to)
}

/** The local disk under the scheme `faulty`, with injected faults. One operation is one call from outside. */
class FaultyFileSystem extends RawLocalFileSystem {

  import FaultyFileSystem._

  override def getUri: URI = URI.create("faulty:///")

  override def getScheme: String = "faulty"

  protected def appearsOnClose: Boolean = false

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
    operation(s"create $file") {
      if (isStored) storing(file, overwrite)(super.create(_, true, bufferSize, replication, blockSize, progress))
      else {
        val replaces = overwrite || claimed(file)
        closing(file, super.create(file, replaces, bufferSize, replication, blockSize, progress))
      }
    }

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream =
    operation(s"create $file") {
      if (isStored)
        storing(file, overwrite)(super.create(_, permission, true, bufferSize, replication, blockSize, progress))
      else {
        val replaces = overwrite || claimed(file)
        closing(file, super.create(file, permission, replaces, bufferSize, replication, blockSize, progress))
      }
    }

  /** Whether one of several that create a file at once succeeds: the local disk's call looks before it creates. */
  protected def createsExclusively: Boolean = false

  /** Creates the file, empty, if it is to be created in one step. */
  private def claimed(file: Path): Boolean = createsExclusively && {
    super.mkdirs(file.getParent)
    try Files.createFile(pathToFile(file).toPath)
    catch { case _: java.nio.file.FileAlreadyExistsException => throw new FileAlreadyExistsException(file.toString) }
    true
  }

  override def rename(from: Path, to: Path): Boolean = operation(s"rename $from to $to")(move(from, to))

  protected def move(from: Path, to: Path): Boolean = super.rename(from, to)

  private[table] def replace(from: Path, to: Path): Unit = operation(s"rename $from to $to") {
    Files.move(pathToFile(from).toPath, pathToFile(to).toPath, StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  override def delete(file: Path, recursive: Boolean): Boolean =
    operation(s"delete $file", deleteSome(file))(super.delete(file, recursive))

  override def listStatus(file: Path): Array[FileStatus] = operation(s"list $file")(super.listStatus(file))

  override def mkdirs(file: Path): Boolean = operation(s"mkdirs $file")(super.mkdirs(file))

  override def mkdirs(file: Path, permission: FsPermission): Boolean =
    operation(s"mkdirs $file")(super.mkdirs(file, permission))

  override def exists(file: Path): Boolean = operation(s"exists $file")(super.exists(file))

  override def getFileStatus(file: Path): FileStatus = operation(s"status $file")(super.getFileStatus(file))

  /** Without Hadoop's native library this starts a process. */
  override def setPermission(file: Path, permission: FsPermission): Unit = ()

  private def isStored: Boolean = appearsOnClose && nested.get <= 1

  /** Stored when it is closed, unless closing fails. */
  private def storing(file: Path, overwrite: Boolean)(create: Path => FSDataOutputStream): FSDataOutputStream = {
    if (!overwrite && super.exists(file)) throw new FileAlreadyExistsException(file.toString)
    val bytes = new ByteArrayOutputStream()
    new FSDataOutputStream(
      new FilterOutputStream(bytes) {
        private var isOpen                                           = true
        override def write(b: Array[Byte], off: Int, len: Int): Unit = bytes.write(b, off, len)
        override def close(): Unit = if (isOpen) {
          isOpen = false
          operation(s"close $file") {
            val out = create(file)
            try out.write(bytes.toByteArray)
            finally out.close()
          }
        }
      },
      null
    )
  }

  /** The first entries of a folder; nothing of a file. */
  private def deleteSome(file: Path): () => Unit = () => {
    val found = if (super.exists(file) && super.getFileStatus(file).isDirectory) super.listStatus(file) else Array.empty
    found.take((found.length + 1) / 2).foreach(entry => super.delete(entry.getPath, true))
  }

  /** Each full buffer is an operation, and so is closing: a file whose close fails is truncated. */
  private def closing(file: Path, out: FSDataOutputStream): FSDataOutputStream =
    if (nested.get > 1) out
    else
      new FSDataOutputStream(
        new BufferedOutputStream(new OutputStream {
          private var isOpen               = true
          override def write(b: Int): Unit = write(Array(b.toByte), 0, 1)
          override def write(b: Array[Byte], off: Int, len: Int): Unit =
            operation(s"write $file", half(b, off, len / 2))(out.write(b, off, len))
          override def close(): Unit =
            if (isOpen) { isOpen = false; operation(s"close $file", half(Array.empty, 0, 0))(out.close()) }

          /** What has arrived of the file stays, and the half of the block that is being written. */
          private def half(b: Array[Byte], off: Int, len: Int): () => Unit = () => {
            isOpen = false
            out.write(b, off, len)
            out.close()
            val path = pathToFile(file)
            if (len == 0) {
              val cut = new java.io.RandomAccessFile(path, "rw")
              try cut.setLength(path.length / 2)
              finally cut.close()
            }
          }
        }),
        null
      )
}

object FaultyFileSystem {

  /** Each happens once, but for those of a file system that is dead. */
  sealed abstract class Fault(val name: String)
  case object Before extends Fault("fails without an effect")
  case object After extends Fault("fails although it took effect")
  case object Dead extends Fault("is the first that has no effect, as nothing has from then on")
  case object DeadAfter extends Fault("is the last that takes effect")

  /** The connection is lost: half of a block is written, half of a file arrives, half of a folder is deleted. */
  case object Lost extends Fault("is done by half")

  /** It does not return until the caller gives up; `takesEffect`: and then it takes effect all the same. */
  final case class Hung(takesEffect: Boolean)
      extends Fault(s"hangs, and ${if (takesEffect) "takes effect" else "fails"} once the caller has given up")

  private val count                    = new AtomicInteger
  @volatile private var failAt         = 0
  @volatile private var fault: Fault   = Before
  @volatile private var failed         = Option.empty[String]
  @volatile private var hook           = (_: String) => ()
  @volatile private var reached        = new CountDownLatch(1)
  @volatile private var released       = new CountDownLatch(1)
  private val waiting                  = new ConcurrentHashMap[String, Boolean]
  private val nested: ThreadLocal[Int] = ThreadLocal.withInitial[Int](() => 0)

  /** Configuration in which the schemes are registered. */
  lazy val configuration: Configuration = HadoopDefaults.copy(
    "fs.faulty.impl" -> classOf[FaultyFileSystem].getName,
    "fs.gs.impl" -> classOf[FaultyStore].getName,
    "fs.hdfs.impl" -> classOf[FaultyHdfs].getName,
    "fs.AbstractFileSystem.hdfs.impl" -> classOf[FaultyHdfsContext].getName
  )

  /** Runs the body while the nth operation fails, counted from 1. @return its result, and the operation that failed */
  def failing[T](n: Int, how: Fault)(body: => T): (Either[Throwable, T], Option[String]) = {
    count.set(0)
    failed = None
    fault = how
    failAt = n
    try {
      val result =
        try Right(body)
        catch {
          case scala.util.control.NonFatal(e) => Left(e)
          case e: InterruptedException        => Left(e)
        }
      (result, failed)
    } finally failAt = 0
  }

  /**
   * Runs the body while the nth operation hangs.
   *
   * @param giveUp called once it hangs, in another thread, with the thread of the body
   * @return as of [[failing]]
   */
  def hanging[T](n: Int, how: Hung)(giveUp: Thread => Unit)(body: => T): (Either[Throwable, T], Option[String]) = {
    reached = new CountDownLatch(1)
    released = new CountDownLatch(1)
    val (caller, hasHung, letGo) = (Thread.currentThread, reached, released)
    val watcher = new Thread("gives up") {
      override def run(): Unit =
        try {
          hasHung.await()
          giveUp(caller)
          Thread.sleep(HangsOnMs)
          letGo.countDown()
        } catch { case _: InterruptedException => letGo.countDown() }
    }
    watcher.setDaemon(true)
    watcher.start()
    try failing(n, how)(body)
    finally {
      watcher.interrupt()
      while (watcher.isAlive) {
        Thread.interrupted();
        try watcher.join()
        catch { case _: InterruptedException => () }
      }
      Thread.interrupted()
    }
  }

  /** How long an operation goes on hanging that nobody interrupts after its caller has given up, in milliseconds. */
  private val HangsOnMs = 50L

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

  /** The operations of the body, in their order. */
  def recorded(body: => Any): Seq[String] = {
    val found = new ConcurrentLinkedQueue[String]
    watching { what => found.add(what); () }(operations(body))
    found.asScala.toSeq
  }

  /**
   * The operations of the body, in their order, each with a hash of the methods and lines that called it and of what
   * it does, without the file.
   */
  def recordedWithCallers(body: => Any): Seq[(String, Int)] = {
    val found = new ConcurrentLinkedQueue[(String, Int)]
    watching { what =>
      val callers =
        Thread.currentThread.getStackTrace.toSeq.map(f => s"${f.getClassName}.${f.getMethodName}:${f.getLineNumber}")
      found.add(what -> (what.takeWhile(_ != ' '), callers).hashCode); ()
    }(operations(body))
    found.asScala.toSeq
  }

  /** Whether an operation changes what is stored. */
  def isChange(what: String): Boolean = !Seq("open", "list", "exists", "status").contains(what.takeWhile(_ != ' '))

  private def operation[T](what: String, half: () => Unit = () => ())(body: => T): T = {
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
          case DeadAfter =>
            if (number > failAt) fail()
            val result = body
            if (number == failAt) fail() else result
          case Lost => if (number == failAt) { half(); fail() }
            else body
          case Hung(takesEffect) =>
            if (number == failAt) {
              reached.countDown()
              val interrupted =
                try { released.await(30, TimeUnit.SECONDS); false }
                catch { case _: InterruptedException => true }
              if (takesEffect) { body; () }
              if (interrupted) throw new InterruptedIOException(s"injected: $what")
              fail()
            } else body
        }
      }
    } finally nested.set(nested.get - 1)
  }
}
