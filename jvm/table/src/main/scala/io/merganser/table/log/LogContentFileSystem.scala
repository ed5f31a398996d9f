package io.merganser.table.log

import io.merganser.table.storage.Storage
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FSInputStream, FileStatus, FileSystem, Path}
import org.apache.hadoop.util.Progressable

import java.io.EOFException
import java.net.{URI, URLDecoder, URLEncoder}
import java.util.WeakHashMap

/**
 * Presents the content of log blocks as files, so that a Parquet reader fetches only the columns that it needs. A path
 * of [[LogContentFileSystem.path]] locates a block.
 */
final class LogContentFileSystem extends FileSystem {
  import LogContentFileSystem._

  override def getScheme: String = Scheme

  override def getUri: URI = Root.toUri

  override def open(path: Path, bufferBytes: Int): FSDataInputStream = {
    val place = Place.of(path)
    new FSDataInputStream(new Content(place.log.getFileSystem(getConf).open(place.log), place.offset, place.length))
  }

  override def getFileStatus(path: Path): FileStatus = {
    val length = Place.of(path).length
    new FileStatus(length, false, 1, length, 0L, path)
  }

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
  private val Scheme = "merganser-log"
  private val Root   = new Path(s"$Scheme:///")

  /** By the configuration of a table: to copy one takes longer than to read a small block. */
  private val configurations = new WeakHashMap[Configuration, Configuration]

  /** The path of the block's content; requires the configuration that `conf` returns for its table. */
  def path(storage: Storage, block: LogBlock): Path = {
    val log = URLEncoder.encode(storage.path(block.log.path).toUri.toString, "UTF-8")
    new Path(s"$Scheme:///$log/${block.contentOffset}/${block.contentLength}/${block.log.name}")
  }

  def conf(storage: Storage): Configuration =
    configurations.synchronized(configurations.computeIfAbsent(storage.conf, withScheme))

  private def withScheme(tables: Configuration): Configuration = {
    val conf = new Configuration(tables)
    conf.setClassLoader(getClass.getClassLoader)
    conf.set(s"fs.$Scheme.impl", classOf[LogContentFileSystem].getName)
    conf.setBoolean(s"fs.$Scheme.impl.disable.cache", true)
    conf
  }

  /** Where the content of a block is. */
  private final case class Place(log: Path, offset: Long, length: Long)

  private object Place {
    def of(path: Path): Place = {
      val length = path.getParent
      val offset = length.getParent
      val log    = URLDecoder.decode(offset.getParent.getName, "UTF-8")
      Place(new Path(URI.create(log)), offset.getName.toLong, length.getName.toLong)
    }
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
