package io.merganser.table.storage

import java.io.File
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermission

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.io.nativeio.NativeIO

/**
 * Hadoop's local file system, which sets permissions by Java. Without Hadoop's native library its own starts a `chmod`
 * for each file that it creates, and one for its checksum file: that takes longer than to write them.
 */
final class LocalFiles extends LocalFileSystem(new LocalFiles.Raw)

object LocalFiles {

  /** Hive's jars have one of their own, which replaces Hadoop's when it comes first on the class path. */
  private val Replaced =
    Set(classOf[LocalFileSystem].getName, "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem")

  /** Names of the classes that are a local disk and nothing else. */
  private[storage] val Plain: Set[String] =
    Replaced ++ Seq(classOf[RawLocalFileSystem].getName, classOf[LocalFiles].getName)

  /** The file system of a path: Hadoop's, or in place of its local one the one above. */
  def fileSystem(path: Path, conf: Configuration): FileSystem = {
    val found = path.getFileSystem(conf)
    if (!Replaced(found.getClass.getName) || NativeIO.isAvailable) found
    else {
      val local = new LocalFiles
      local.initialize(found.getUri, conf)
      local
    }
  }

  /** Sets the permissions of a file; false if Java cannot, and nothing was done. */
  private[table] def setPermission(file: File, permission: FsPermission): Boolean = {
    val isSupported =
      !permission.getStickyBit && file.toPath.getFileSystem.supportedFileAttributeViews.contains("posix")
    if (isSupported) {
      val set = java.util.EnumSet.noneOf(classOf[PosixFilePermission])
      Bits.zipWithIndex.foreach { case (bit, i) => if ((permission.toShort & (1 << i)) != 0) set.add(bit) }
      Files.setPosixFilePermissions(file.toPath, set)
    }
    isSupported
  }

  /** From the lowest bit on. */
  private val Bits = PosixFilePermission.values().reverse

  private final class Raw extends RawLocalFileSystem {

    override def setPermission(path: Path, permission: FsPermission): Unit =
      if (!LocalFiles.setPermission(pathToFile(path), permission)) super.setPermission(path, permission)
  }
}
