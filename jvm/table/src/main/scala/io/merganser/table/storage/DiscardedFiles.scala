package io.merganser.table.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{FSDataInputStream, FSDataOutputStream, FileStatus, FileSystem, Path}
import org.apache.hadoop.util.Progressable

import java.io.{FileNotFoundException, OutputStream}
import java.net.URI

/** Files that are counted and thrown away: nothing that is written here exists. For the writers of a dry run. */
final class DiscardedFiles extends FileSystem {
  import DiscardedFiles._

  override def getScheme: String = Scheme

  override def getUri: URI = Root.toUri

  override def getWorkingDirectory: Path = Root

  override def setWorkingDirectory(path: Path): Unit = ()

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferBytes: Int,
      replication: Short,
      blockBytes: Long,
      progress: Progressable
  ): FSDataOutputStream = new FSDataOutputStream(new Discarded, null)

  override def append(path: Path, bufferBytes: Int, progress: Progressable): FSDataOutputStream =
    new FSDataOutputStream(new Discarded, null)

  override def mkdirs(path: Path, permission: FsPermission): Boolean = true

  override def delete(path: Path, recursive: Boolean): Boolean = true

  override def rename(from: Path, to: Path): Boolean = throw missing(from)

  override def open(path: Path, bufferBytes: Int): FSDataInputStream = throw missing(path)

  override def getFileStatus(path: Path): FileStatus = throw missing(path)

  override def listStatus(path: Path): Array[FileStatus] = throw missing(path)

  private def missing(path: Path) = new FileNotFoundException(s"$path: files of a dry run are not stored")
}

object DiscardedFiles {
  private val Scheme = "merganser-discarded"
  private val Root   = new Path(s"$Scheme:///")

  /** The place of a table's files that are thrown away; its settings for files are the table's. */
  private[table] def storage(of: Storage): Storage = {
    val conf = new Configuration(of.conf)
    conf.setClassLoader(getClass.getClassLoader)
    conf.set(s"fs.$Scheme.impl", classOf[DiscardedFiles].getName)
    conf.setBoolean(s"fs.$Scheme.impl.disable.cache", true)
    new Storage(new Path(s"$Scheme:///table"), conf)
  }

  /** Whether a storage is such a place. */
  private[table] def are(in: Storage): Boolean = in.fs.getUri.getScheme == Scheme

  private final class Discarded extends OutputStream {
    override def write(b: Int): Unit                                   = ()
    override def write(b: Array[Byte], offset: Int, length: Int): Unit = ()
  }
}
