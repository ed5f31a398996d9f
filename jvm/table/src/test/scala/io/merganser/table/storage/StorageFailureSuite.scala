package io.merganser.table.storage

import java.io.{IOException, OutputStream}
import java.net.URI
import java.nio.file.Files

import io.merganser.Extensive
import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.{DirectTable, HadoopDefaults, TableSuite}
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, FileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

// Guarantee (Writes): A location that cannot be used is one condition with a remedy, however the table is opened; a
//   write to a full disk leaves the rows, and succeeds once there is space ([decision
//   164](design/layout-and-trust.md#164-failures-of-storage-are-conditions-made-in-one-place)). Also:
//   test_storage_errors
@Extensive
final class StorageFailureSuite extends TableSuite {

  private def refused(work: => Any): MerganserException = intercept[MerganserException](work)

  test("a location without its file system is refused with the remedy, and opened once that is there") {
    val conf = new Configuration()
    def message(path: String): String = {
      val error = refused(Storage(path, conf))
      assert(error.condition == "FILE_SYSTEM_UNAVAILABLE" && error.getMessage.contains(path.take(5)))
      error.getMessage
    }
    assert(message("s3a://bucket/t").contains("spark.jars.packages=org.apache.hadoop:hadoop-aws:3."))
    assert(message("abfss://c@a.dfs.core.windows.net/t").contains("org.apache.hadoop:hadoop-azure:3."))
    assert(message("gs://bucket/t").contains("spark.jars.packages=com.google.cloud.bigdataoss:gcs-connector"))
    assert(message("s3://bucket/t").contains("Write s3a://"))
    assert(message("https://host/t").contains("Copy the files to a disk or an object store"))
    val full = s"full://${folder.resolve("t")}"
    assert(message(full).contains("spark.hadoop.fs.full.impl set to its class"))
    conf.setClass("fs.full.impl", classOf[FullDisk], classOf[FileSystem])
    assert(!Storage(full, conf).exists("x"))
  }

  test("a table is refused in a place where no folder can be made, and made in a folder") {
    Files.write(folder.resolve("file"), "x".getBytes)
    for (path <- Seq("file/t", "file/t/u")) {
      val below = Storage(folder.resolve(path).toUri.toString, HadoopDefaults.shared)
      for (error <- Seq(refused(Creation.create(below, properties())), refused(TableConfig.load(below)))) {
        assert(error.condition == "STORAGE_REFUSED" && error.getMessage.contains(path))
        assert(error.getMessage.contains("Correct the path"))
      }
    }
    val name = Storage(folder.resolve("x" * 300).toUri.toString, HadoopDefaults.shared)
    assert(refused(Creation.create(name, properties())).getMessage.contains("Shorten the path"))
    Creation.create(Storage(folder.resolve("folder/t").toUri.toString, HadoopDefaults.shared), properties())
  }

  test("failures that a user can correct get a condition, as nested causes too, and others get none") {
    def condition(failure: Throwable) =
      StorageFailure.of("t", new RuntimeException("a job", failure)).map(e => e.condition -> e.parameters("reason"))
    assert(condition(new IOException("No space left on device")).contains(
        "STORAGE_FULL" -> "IOException: No space left on device"))
    assert(condition(new IOException("Disk quota exceeded")).exists(_._1 == "STORAGE_FULL"))
    val refusals = Seq(
      new java.nio.file.AccessDeniedException("/t"),
      new org.apache.hadoop.security.AccessControlException("Permission denied: user=a"),
      new IOException("/t: Read-only file system"),
      new java.nio.file.FileSystemException("/t/x", null, "File name too long"),
      new java.nio.file.InvalidPathException("x", "Nul character not allowed"),
      new java.net.UnknownHostException("nowhere"),
      new java.net.ConnectException("Connection refused")
    )
    refusals.foreach(failure => assert(condition(failure).exists(_._1 == "STORAGE_REFUSED"), failure))
    for (other <- Seq(new IOException("lost"), new java.io.FileNotFoundException("x"), new IllegalStateException("No")))
      assert(condition(other).isEmpty, other)
    assert(condition(MerganserException("PATH_IS_NO_TABLE", "path" -> "No space left on device")).isEmpty)
  }

  for (mergeOnRead <- Seq(false, true))
    test(s"a write to a full disk fails with the rows unchanged, and succeeds once there is space ($mergeOnRead)") {
      val conf = new Configuration(HadoopDefaults.shared)
      conf.setClass("fs.full.impl", classOf[FullDisk], classOf[FileSystem])
      val s = Storage(s"full://${folder.resolve("t")}", conf)
      Creation.create(s, DirectTable.properties(mergeOnRead))
      val table           = new DirectTable(s, bucketed = false)
      def rows(): String  = table.rows.map(_.toString).sorted.mkString(" ")
      val (before, after) = ("k1@10=a k2@10=b", "k1@20=A k2@10=b k3@10=c")
      table.upsert(Notation.changes(before))
      // In a file of the timeline, a marker, a data file, the commit.
      val failed = Iterator.from(0).map { files =>
        FullDisk.files = files
        try { table.upsert(Notation.changes("k1@20=A k3@10=c")); None }
        catch { case e: MerganserException => Some(e.condition) }
        finally {
          FullDisk.files = Int.MaxValue
          assert(rows() == before || rows() == after)
        }
      }.takeWhile(_.isDefined).flatten.toSeq
      assert(failed.size > 4 && failed.toSet == Set("STORAGE_FULL") && rows() == after)
    }

  test("an error names a folder in place of the properties, and the table is read once the file is back") {
    table()
    val file = folder.resolve("t/.hoodie/hoodie.properties")
    val kept = Files.readAllBytes(file)
    Files.delete(file)
    Files.createDirectory(file)
    val error = refused(TableConfig.load(storage))
    assert(error.condition == "TABLE_PROPERTIES_INVALID")
    assert(error.getMessage.contains("it is a folder. Restore the file"))
    Files.delete(file)
    Files.write(file, kept)
    assert(TableConfig.load(storage).name == "t")
  }

  test("an error names a file in place of the timeline, and the table is read once the folder is back") {
    val config   = table()
    val timeline = folder.resolve("t/.hoodie/timeline")
    val kept     = folder.resolve("kept")
    instantFile(storage, "100_110.commit")
    Files.move(timeline, kept)
    Files.createFile(timeline)
    val error = refused(Timeline.load(storage, config))
    assert(error.condition == "TIMELINE_FILE_UNREADABLE" && error.getMessage.contains("it is no folder. Restore"))
    Files.delete(timeline)
    Files.move(kept, timeline)
    assert(Timeline.load(storage, config).completed.size == 1)
  }
}

/** The local disk, which takes some files more and then is full. */
final class FullDisk extends RawLocalFileSystem {
  override def getUri: URI = URI.create("full:///")

  override def getScheme: String = "full"

  override def setPermission(file: Path, permission: FsPermission): Unit = ()

  override def create(
      file: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = taken(super.create(file, overwrite, bufferSize, replication, blockSize, progress))

  override def create(
      file: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = taken(super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress))

  private def taken(out: FSDataOutputStream): FSDataOutputStream = {
    FullDisk.files -= 1
    if (FullDisk.files >= 0) out
    else new FSDataOutputStream(
      new OutputStream {
        override def write(b: Int): Unit = throw new IOException("No space left on device")
        override def close(): Unit       = { out.close(); throw new IOException("No space left on device") }
      },
      null
    )
  }
}

object FullDisk {
  @volatile var files: Int = Int.MaxValue
}
