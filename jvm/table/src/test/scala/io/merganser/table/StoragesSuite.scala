package io.merganser.table

import java.io.IOException
import java.net.URI
import java.nio.file.Files

import io.merganser.table.storage.{Storage, StorageLock, TableLock, WaitingThread}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  EtagSource,
  FSDataInputStream,
  FSDataOutputStream,
  FSDataOutputStreamBuilder,
  FileAlreadyExistsException,
  FileStatus,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.fs.permission.FsPermission

// Guarantee (Concurrent writers): Several writers are refused where the store cannot create a file exclusively, or the
//   lock provider is unsupported. Also: WriteConfigSuite
/** What differs from store to store: names of one table, and files that only one writer can create. */
final class StoragesSuite extends TableSuite {

  private def store(scheme: String, conditional: Boolean = false): Storage = {
    val conf = HadoopDefaults.copy()
    Seq("s3", "s3a", "s3n", "abfs", "zfs").foreach(s => conf.set(s"fs.$s.impl", classOf[FakeStore].getName))
    conf.setBoolean("fake.conditional", conditional)
    conf.setBoolean(s"fs.$scheme.impl.disable.cache", true)
    Storage(s"$scheme://bucket${folder.resolve("t")}", conf)
  }

  private val several = TableLock.Settings(timeoutMs = 300, severalWriters = true)

  test("all names of one path identify the same table") {
    val conf = HadoopDefaults.copy()
    val real = Files.createDirectories(folder.resolve("t"))
    Files.createSymbolicLink(folder.resolve("link"), folder)
    val working = java.nio.file.Paths.get("").toAbsolutePath
    def names(path: java.nio.file.Path) = Seq(path.toString, s"$path/", s"file:$path", s"file://$path",
      s"${path.getParent}//t",
      s"${path.getParent}/x/../t", working.relativize(path).toString,
      folder.resolve("link").resolve(path.getFileName).toString)
    Seq(real, folder.resolve("new/t"), folder.resolve("link/new/t")).foreach { path =>
      Files.createDirectories(folder.resolve("new"))
      assert(names(path).dropRight(1).map(Storage(_, conf).identity).distinct.size == 1, path)
    }
    assert(names(real).map(Storage(_, conf).identity).distinct == Seq(s"file:${real.toRealPath()}"))
    assert(Seq("s3", "s3a", "s3n").map(store(_).identity).distinct.size == 1)
    assert(Storage(folder.resolve("other").toString, conf).identity != storage.identity)
    conf.set("fs.viewfs.mounttable.all.link./lake", folder.toUri.toString)
    Seq("t", "new/t", "not/there/yet").foreach { name =>
      val local = Storage(folder.resolve(name).toString, conf)
      assert(Storage(s"viewfs://all/lake/$name", conf).identity == local.identity)
    }
  }

  test("several writers are refused on a store without exclusive creates, and a single one works") {
    val s3 = store("s3a")
    s3.makeFolder(".hoodie")
    val refused = intercept[io.merganser.merge.MerganserException](TableLock.hold(s3, several)(_ => ()))
    assert(refused.condition == "EXCLUSIVE_CREATE_MISSING")
    assert(refused.getMessage.contains("s3a") && refused.getMessage.contains("hoodie.fs.atomic_creation.support"))
    assert(TableLock.hold(s3, several.copy(severalWriters = false))(_ => "in") == "in")
    assert(conditionOf(TableLock.hold(store("zfs"), several)(_ => ())) == "EXCLUSIVE_CREATE_MISSING")
    val local = Storage(folder.resolve("t").toString, s3.conf)
    assert(conditionOf(TableLock.hold(local, several.copy(folder = Some(s3.toString)))(_ =>
        ())) == "EXCLUSIVE_CREATE_MISSING")
    Seq(
      TableLock.hold(store("zfs"), several.copy(exclusiveSchemes = Set("zfs")))(_ => "in"),
      TableLock.hold(store("abfs"), several)(_ => "in"),
      TableLock.hold(storage, several)(_ => "in")
    ).foreach(entered => assert(entered == "in"))
  }

  test("on a store with conditional creates several writers lock the table and wait for each other") {
    val s3 = store("s3a", conditional = true)
    s3.makeFolder(".hoodie")
    TableLock.hold(s3, several) { lock =>
      lock.requireHeld()
      val other = new WaitingThread(s3.createExclusively(TableLock.File, Array[Byte](1)))
      assert(other.failure.isDefined)
    }
    assert(FakeStore.conditionalCreates > 0 && !s3.exists(TableLock.File))
    // Another writer's file appears between the look and the put.
    FakeStore.beforeClose = () => { Files.write(folder.resolve("t/.hoodie/lock"), "someone".getBytes("UTF-8")); () }
    assert(conditionOf(TableLock.hold(s3, several)(_ => ())) == "LOCK_TIMEOUT")
    assert(s3.readText(TableLock.File) == "someone")
  }

  test("a file that appears during a create counts as another's unless it has the same content") {
    val s3   = store("s3a", conditional = true)
    val file = Files.createDirectories(folder.resolve("t/.hoodie")).resolve("new")
    Seq("another's" -> true, "ours" -> false, "" -> true).foreach { case (found, isOther) =>
      Files.deleteIfExists(file)
      FakeStore.beforeClose = () => { Files.write(file, found.getBytes("UTF-8")); () }
      val put    = if (found.isEmpty) Array.emptyByteArray else "ours".getBytes("UTF-8")
      val result = scala.util.Try(s3.createNew(".hoodie/new", put))
      assert(result.isFailure == isOther, found)
      if (isOther) assert(result.failed.get.isInstanceOf[FileAlreadyExistsException])
      assert(s3.readText(".hoodie/new") == found)
    }
  }

  test("a file that another writer replaces while it is read is read again") {
    val s3 = store("s3a", conditional = true)
    s3.createExclusively("file", Array[Byte](1))
    val file = java.nio.file.Paths.get(s3.path("file").toUri.getPath)
    FakeStore.beforeOpen = Some(() => { Files.write(file, Array[Byte](2)); () })
    assert(s3.readVersion("file").get.content.toSeq == Seq[Byte](2))
    FakeStore.beforeOpen = Some(() => ())
    assert(scala.util.Try(s3.readVersion("file")).isFailure)
  }

  test("a version of a file is replaced once, and a lost response does not fail the replacement") {
    val s3 = store("s3a", conditional = true)
    s3.makeFolder(".hoodie")
    assert(s3.replacesConditionally && s3.readVersion("file").isEmpty)
    s3.createExclusively("file", Array[Byte](1))
    val first = s3.readVersion("file").get
    assert(s3.replaceVersion("file", Array[Byte](2), first.tag))
    assert(!s3.replaceVersion("file", Array[Byte](3), first.tag) && s3.read("file").toSeq == Seq[Byte](2))
    val second = s3.readVersion("file").get
    FakeStore.beforeClose = () => { Files.write(folder.resolve("t/file"), Array[Byte](4)); () }
    assert(s3.replaceVersion("file", Array[Byte](4), second.tag), "the first of two requests has replaced it")
    s3.delete("file")
    assert(!s3.replaceVersion("file", Array[Byte](5), second.tag) && !s3.exists("file"))
  }

  private val byLease = several.copy(storageLease = Some(StorageLock.Lease(validMs = 10000, renewMs = 100)))
  private val File    = ".hoodie/.locks/table_lock.json"

  test("a folder removed during its listing counts as empty, and an unreadable one is an error") {
    val conf    = HadoopDefaults.copy("fs.removing.impl" -> classOf[OthersRemove].getName)
    val storage = Storage(s"removing:${folder.resolve("t")}", conf)
    for (error <- Seq("denied", "failed")) {
      Seq("removed", "closed").foreach(name => storage.makeFolder(s"$error/$name"))
      assert(storage.list(s"$error/removed").isEmpty && !storage.exists(s"$error/removed"))
      assertThrows[IOException](storage.list(s"$error/closed"))
    }
  }

  private def lockFile(content: String): Unit = {
    Files.createDirectories(folder.resolve("t/.hoodie/.locks"))
    Files.write(folder.resolve(s"t/$File"), content.getBytes("UTF-8"))
    ()
  }

  private def content(storage: Storage) = new com.fasterxml.jackson.databind.ObjectMapper().readTree(storage.read(File))

  test("the storage-based lock is created, renewed and released by replacing versions of its file") {
    val s3   = store("s3a", conditional = true)
    var seen = Seq.empty[Long]
    TableLock.hold(s3, byLease) { lock =>
      val held = content(s3)
      assert(held.size == 3 && !held.get("expired").asBoolean && held.get("owner").asText.length == 36)
      val end = System.currentTimeMillis() + 10000
      while (seen.distinct.size < 3 && System.currentTimeMillis() < end) {
        seen :+= content(s3).get("validUntil").asLong
        Thread.sleep(20)
      }
      assert(seen.distinct.size >= 3, "it is renewed")
      assert(seen.forall(until => until > System.currentTimeMillis() && until < System.currentTimeMillis() + 11000))
      lock.requireHeld()
    }
    assert(content(s3).get("expired").asBoolean, "a released lock stays, expired")
    assert(TableLock.hold(s3, byLease)(_ => "again") == "again")
  }

  test("a storage-based lock is acquired once released or expired, and a holder that lost it fails") {
    val s3  = store("s3a", conditional = true)
    val now = System.currentTimeMillis()
    lockFile(s"""{"expired":false,"validUntil":${now + 60000},"owner":"hudi"}""")
    val refused = intercept[io.merganser.merge.MerganserException](TableLock.hold(s3, byLease)(_ => ()))
    assert(refused.condition == "LOCK_TIMEOUT" && refused.getMessage.contains("owner hudi"))
    assert(content(s3).get("owner").asText == "hudi")
    lockFile(s"""{"expired":true,"validUntil":${now + 60000},"owner":"hudi"}""")
    assert(TableLock.hold(s3, byLease)(_ => "released") == "released")
    lockFile(s"""{"expired":false,"validUntil":${System.currentTimeMillis() + 500},"owner":"hudi"}""")
    assert(TableLock.hold(s3, byLease.copy(timeoutMs = 20000))(_ => System.currentTimeMillis()) > now + 1000)
    assert(conditionOf(TableLock.hold(s3, byLease) { lock =>
      lockFile(s"""{"expired":false,"validUntil":${System.currentTimeMillis() + 60000},"owner":"hudi"}""")
      lock.requireHeld()
    }) == "COMMIT_CONFLICT")
    assert(content(s3).get("owner").asText == "hudi" && !content(s3).get("expired").asBoolean)
  }

  test("the storage-based lock needs conditional replaces and takes over a dead holder's file") {
    assert(conditionOf(TableLock.hold(storage, byLease)(_ => ())) == "CONDITIONAL_REPLACE_MISSING")
    val s3 = store("s3a", conditional = true)
    s3.makeFolder(".hoodie")
    Files.write(folder.resolve("t/.hoodie/lock"),
      """{"owner":"merganser","process":"p","token":"t","host":"elsewhere","leaseMs":50,"renewedMs":1}""".getBytes)
    assert(TableLock.hold(s3, byLease.copy(timeoutMs = 20000))(_ => "in") == "in")
  }
}

/** A local disk on which a folder `removed` is removed by others while it is listed, and one `closed` is not listed. */
final class OthersRemove extends RawLocalFileSystem {

  /** By the parent's name, as Hadoop's local file system has them. */
  private val errors = Map(
    "denied" -> new java.nio.file.AccessDeniedException("/t", null, "Permission denied"),
    "failed" -> new IOException("Invalid directory or I/O error occurred for dir: /t")
  )

  override def getUri: URI = URI.create("removing:///")

  override def listStatus(folder: Path): Array[FileStatus] = {
    if (folder.getName == "removed") delete(folder, true)
    if (folder.getName == "removed" || folder.getName == "closed") throw errors(folder.getParent.getName)
    super.listStatus(folder)
  }
}

/**
 * The local disk under an object store's scheme; with `fake.conditional` it creates a file only if there is none, and
 * replaces a version of it.
 */
final class FakeStore extends RawLocalFileSystem {
  private var uri: URI = _

  override def initialize(name: URI, conf: Configuration): Unit = {
    uri = URI.create(s"${name.getScheme}://${name.getAuthority}")
    super.initialize(name, conf)
  }
  override def getUri: URI                                               = if (uri == null) super.getUri else uri
  override def getScheme: String                                         = getUri.getScheme
  override def checkPath(path: Path): Unit                               = ()
  override def pathToFile(path: Path): java.io.File                      = new java.io.File(path.toUri.getPath)
  override def setPermission(file: Path, permission: FsPermission): Unit = ()

  override def hasPathCapability(path: Path, capability: String): Boolean =
    FakeStore.Conditions(capability) && getConf.getBoolean("fake.conditional", false)

  override def getFileStatus(path: Path): FileStatus = {
    val found = super.getFileStatus(path)
    if (found.isDirectory) found else new FakeStore.Status(found, tag(path))
  }

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    val replace = FakeStore.beforeOpen
    FakeStore.beforeOpen = None
    replace.foreach { change => change(); throw new IOException("412 the file has changed") }
    super.open(path, bufferSize)
  }

  private def tag(path: Path): String =
    java.util.Arrays.hashCode(Files.readAllBytes(pathToFile(path).toPath)).toHexString

  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] = new FakeStore.Builder(this, path).create()

  private[table] def replaceOnCondition(path: Path, expected: String): FSDataOutputStream =
    new FSDataOutputStream(
      new java.io.ByteArrayOutputStream {
        override def close(): Unit = {
          FakeStore.beforeClose()
          FakeStore.beforeClose = () => ()
          val found = if (exists(path)) Some(tag(path)) else None
          if (!found.contains(expected)) throw new IOException("412 precondition failed")
          val file = pathToFile(path).toPath
          val put  = Files.write(file.resolveSibling(s".${file.getFileName}.put"), toByteArray)
          Files.move(put, file, java.nio.file.StandardCopyOption.ATOMIC_MOVE) // readers see the old or the new content
          ()
        }
      },
      null
    )

  private[table] def createOnCondition(path: Path): FSDataOutputStream = {
    FakeStore.conditionalCreates += 1
    mkdirs(path.getParent)
    new FSDataOutputStream(
      new java.io.ByteArrayOutputStream {
        override def close(): Unit = {
          FakeStore.beforeClose()
          FakeStore.beforeClose = () => ()
          try Files.write(pathToFile(path).toPath, toByteArray, java.nio.file.StandardOpenOption.CREATE_NEW)
          catch {
            case e: java.nio.file.FileAlreadyExistsException => throw new IOException("412 precondition failed", e)
          }
          ()
        }
      },
      null
    )
  }
}

object FakeStore {
  val Conditional = "fs.option.create.conditional.overwrite"
  val OfVersion   = s"$Conditional.etag"
  val Conditions  = Set(Conditional, OfVersion)

  final class Status(found: FileStatus, tag: String)
      extends FileStatus(found.getLen, false, 1, found.getBlockSize, found.getModificationTime, found.getPath)
      with EtagSource {
    override def getEtag: String = tag
  }

  @volatile var conditionalCreates: Int = 0
  @volatile var beforeClose: () => Unit = () => ()

  /** A change of the file that is opened next, upon which opening it fails. */
  @volatile var beforeOpen: Option[() => Unit] = None

  final class Builder(store: FakeStore, path: Path)
      extends FSDataOutputStreamBuilder[FSDataOutputStream, Builder](store, path) {
    override def getThisBuilder: Builder = this
    override def build(): FSDataOutputStream = {
      val tag = getOptions.get(OfVersion)
      if (tag != null) store.replaceOnCondition(path, tag)
      else if (getOptions.getBoolean(Conditional, false)) store.createOnCondition(path)
      else throw new IllegalArgumentException("no condition")
    }
  }
}
