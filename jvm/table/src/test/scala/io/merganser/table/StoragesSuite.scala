package io.merganser.table

import java.io.IOException
import java.net.URI
import java.nio.file.Files

import io.merganser.table.storage.{Storage, TableLock, WaitingThread}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, FSDataOutputStreamBuilder, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** What differs from store to store: names of one table, and files that only one writer can create. */
final class StoragesSuite extends TableSuite {

  private def store(scheme: String, conditional: Boolean = false): Storage = {
    val conf = new Configuration()
    Seq("s3", "s3a", "s3n", "abfs", "zfs").foreach(s => conf.set(s"fs.$s.impl", classOf[FakeStore].getName))
    conf.setBoolean("fake.conditional", conditional)
    conf.setBoolean(s"fs.$scheme.impl.disable.cache", true)
    Storage(s"$scheme://bucket${folder.resolve("t")}", conf)
  }

  private val several = TableLock.Settings(timeoutMs = 300, severalWriters = true)

  test("a table is one, whatever name it has") {
    val conf = new Configuration()
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

  test("a second writer is refused where the store does not create files exclusively, a single one goes on") {
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

  test("where a store creates on condition, several writers lock by it, and who finds another's file waits") {
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
}

/** The local disk under an object store's scheme; with `fake.conditional` it creates a file only if there is none. */
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
    capability == FakeStore.Conditional && getConf.getBoolean("fake.conditional", false)

  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] = new FakeStore.Builder(this, path).create()

  private[table] def createOnCondition(path: Path): FSDataOutputStream = {
    FakeStore.conditionalCreates += 1
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

  @volatile var conditionalCreates: Int = 0
  @volatile var beforeClose: () => Unit = () => ()

  final class Builder(store: FakeStore, path: Path)
      extends FSDataOutputStreamBuilder[FSDataOutputStream, Builder](store, path) {
    override def getThisBuilder: Builder = this
    override def build(): FSDataOutputStream = {
      if (!getOptions.getBoolean(Conditional, false)) throw new IllegalArgumentException("no condition")
      store.createOnCondition(path)
    }
  }
}
