package io.merganser.table.log

import io.merganser.table.storage.Storage
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FSInputStream, FileStatus, FileSystem, Path}
import org.apache.hadoop.util.Progressable

import java.io.EOFException
import java.net.URI

/**
 * Presents the content of one log block as a file, so that a Parquet reader fetches only the columns that it needs. The
 * block is configured by [[LogContentFileSystem.conf]].
 */
final class LogContentFileSystem extends FileSystem {
  import LogContentFileSystem._

  private[this] var log: Path     = _
  private[this] var offset        = 0L
  private[this] var contentLength = 0L

  override def initialize(uri: URI, conf: Configuration): Unit = {
    super.initialize(uri, conf)
    log = new Path(URI.create(conf.get(LogKey)))
    offset = conf.getLong(OffsetKey, 0L)
    contentLength = conf.getLong(LengthKey, 0L)
  }

  override def getScheme: String = Scheme

  override def getUri: URI = Root.toUri

  override def open(path: Path, bufferBytes: Int): FSDataInputStream =
    new FSDataInputStream(new Content(log.getFileSystem(getConf).open(log), offset, contentLength))

  override def getFileStatus(path: Path): FileStatus = new FileStatus(contentLength, false, 1, contentLength, 0L, path)

  override def getWorkingDirectory: Path                 = Root
  override def setWorkingDirectory(path: Path): Unit     = ()
  override def listStatus(path: Path): Array[FileStatus] = Array(getFileStatus(path))

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferBytes: Int,
      replication: Short,
      blockBytes: Long,
      progress: Progressable
  ): FSDataOutputStream = throw readOnly
  override def append(path: Path, bufferBytes: Int, progress: Progressable): FSDataOutputStream = throw readOnly
  override def rename(from: Path, to: Path): Boolean                                            = throw readOnly
  override def delete(path: Path, recursive: Boolean): Boolean                                  = throw readOnly
  override def mkdirs(path: Path, permission: FsPermission): Boolean                            = throw readOnly

  private def readOnly = new UnsupportedOperationException("the content of a log block is read-only")
}

private[log] object LogContentFileSystem {
  private val Scheme    = "merganser-log"
  private val Root      = new Path(s"$Scheme:///")
  private val LogKey    = "merganser.log.content.file"
  private val OffsetKey = "merganser.log.content.offset"
  private val LengthKey = "merganser.log.content.length"

  /** The path of the block's content; requires the configuration that `conf` returns for it. */
  def path(block: LogBlock): Path = new Path(s"$Scheme:///${block.log.name}")

  def conf(storage: Storage, block: LogBlock): Configuration = {
    val ofBlock = new Configuration(storage.conf)
    ofBlock.setClassLoader(getClass.getClassLoader)
    ofBlock.set(s"fs.$Scheme.impl", classOf[LogContentFileSystem].getName)
    ofBlock.setBoolean(s"fs.$Scheme.impl.disable.cache", true)
    ofBlock.set(LogKey, storage.path(block.log.path).toUri.toString)
    ofBlock.setLong(OffsetKey, block.contentOffset)
    ofBlock.setLong(LengthKey, block.contentLength)
    ofBlock
  }

  private final class Content(file: FSDataInputStream, offset: Long, length: Long) extends FSInputStream {
    private[this] var position = 0L
    file.seek(offset)

    override def read(): Int =
      if (position >= length) -1
      else {
        val b = file.read()
        if (b >= 0) position += 1
        b
      }

    override def read(target: Array[Byte], at: Int, count: Int): Int =
      if (count == 0) 0
      else if (position >= length) -1
      else {
        val n = file.read(target, at, Math.min(count.toLong, length - position).toInt)
        if (n > 0) position += n
        n
      }

    override def seek(to: Long): Unit = {
      if (to < 0 || to > length) throw new EOFException(s"byte $to of a content of $length bytes")
      file.seek(offset + to)
      position = to
    }

    override def getPos: Long                           = position
    override def seekToNewSource(target: Long): Boolean = false
    override def available(): Int                       = Math.min(Int.MaxValue.toLong, length - position).toInt
    override def close(): Unit                          = file.close()
  }
}
