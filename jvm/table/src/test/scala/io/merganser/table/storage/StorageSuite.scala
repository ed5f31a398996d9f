package io.merganser.table.storage

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import io.merganser.merge.MerganserException
import io.merganser.table.{FaultyFileSystem, TableSuite}
import io.merganser.table.file.{Marker, MarkerKind, Markers}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.FileSlice
import io.merganser.table.timeline.{CompletedInstants, Timeline}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileAlreadyExistsException

import scala.collection.JavaConverters._

final class StorageSuite extends TableSuite {

  private def travelled[T](thing: T): T = {
    val bytes = new ByteArrayOutputStream()
    val out   = new ObjectOutputStream(bytes)
    out.writeObject(thing)
    out.close()
    new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[T]
  }

  test("storage with its settings, markers, instants and slices is serialized to tasks") {
    val conf = new Configuration(FaultyFileSystem.configuration)
    conf.set("some.setting", "kept")
    val s = Storage(s"faulty://${folder.resolve("t")}", conf)
    table(storage = s)
    partition(s, base("a", "100"))
    instantFile(s, "100_110.commit")
    val there = travelled(s)
    assert(there.conf.get("some.setting") == "kept" && there.basePath == s.basePath && there.exists("p"))
    travelled(new Markers(s, "200")).create(Marker("p", "x.parquet", MarkerKind.Create))
    assert(s.exists(".hoodie/.temp/200/p/x.parquet.marker.CREATE"))
    val completed: CompletedInstants = travelled(Timeline.load(s, TableConfig.load(s)).completedInstants)
    assert(completed("100") && !completed("200"))
    assert(travelled(view(s).slices: Seq[FileSlice]) == view(s).slices)
  }

  test("tasks of equal configurations share one object for it, and others have their own") {
    def conf(setting: String): Configuration = {
      val conf = new Configuration(storage.conf)
      conf.set("some.setting", setting)
      conf
    }
    def entries(conf: Configuration) = conf.asScala.map(entry => entry.getKey -> entry.getValue).toMap
    val long                         = "ä" * 70000 // more bytes than writeUTF takes
    val confs = Seq("one", "one", "other", long).map(setting => travelled(Storage("/t", conf(setting))).conf)
    assert(confs.map(_.get("some.setting")) == Seq("one", "one", "other", long))
    assert(confs.head.eq(confs(1)) && !confs.head.eq(confs(2)))
    assert(entries(confs.head) == entries(conf("one")))
  }

  test("a name that leads out of the table is an error with the table and the name") {
    val s = storage
    for (name <- Seq("../x", "..", "p/../../x", "p/..")) {
      val refused = intercept[MerganserException](s.read(name))
      assert(refused.condition == "PATH_OUTSIDE_TABLE" && refused.getMessage.contains(s"'$name'"))
      intercept[MerganserException](s.delete(name))
    }
    assert(!s.exists("p..q/..r/s..") && !s.exists("/etc/passwd"))
  }

  for (kind <- Seq("local", "foreign"))
    test(s"a file is created once, with its content, and leaves nothing beside it ($kind file system)") {
      val s = if (kind == "local") storage else faulty("t")
      s.createNew("a/b/file", "first".getBytes)
      intercept[FileAlreadyExistsException](s.createNew("a/b/file", "second".getBytes))
      intercept[FileAlreadyExistsException](s.createExclusively("a/b/file", "third".getBytes))
      assert(s.readText("a/b/file") == "first")
      s.replace("a/b/file", "fourth".getBytes)
      assert(s.readText("a/b/file") == "fourth")
      assert(s.list(".hoodie/.temp").isEmpty && s.list("a/b").size == 1)
      assert(s.delete("a/b/file") && !s.delete("a/b/file") && s.list("a/b").isEmpty && s.list("nowhere").isEmpty)
    }

  test("one of many threads that create the same file succeeds") {
    val s    = storage
    val wins = new java.util.concurrent.atomic.AtomicInteger
    val threads = (1 to 8).map(i =>
      new Thread(() =>
        try { s.createNew("x/one", Array(i.toByte)); wins.incrementAndGet(); () }
        catch { case _: FileAlreadyExistsException => () }))
    threads.foreach(_.start())
    threads.foreach(_.join(30000))
    assert(wins.get == 1 && s.read("x/one").length == 1)
  }

  test("deleting a file deletes the checksum that the local file system keeps of it") {
    val s   = storage
    val out = s.fs.create(s.path("d/file"), false)
    out.write(1)
    out.close()
    assert(folder.resolve("t/d/.file.crc").toFile.exists)
    s.delete("d/file")
    assert(folder.resolve("t/d").toFile.list.isEmpty)
  }
}
