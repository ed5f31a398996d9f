package io.merganser.table.storage

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import io.merganser.table.{FaultyFileSystem, TableSuite}
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}

/** The lock file where a created file is visible before it has content, which Hudi's lock never gets. */
final class HdfsLockSuite extends TableSuite {

  private val brief = TableLock.Settings(timeoutMs = 200, leaseMs = 60000)

  private def hdfs = Storage(s"hdfs://${folder.resolve("t")}", FaultyFileSystem.configuration)

  private def lockFile = folder.resolve("t/.hoodie/lock")

  private def content = new String(Files.readAllBytes(lockFile), UTF_8)

  test("a process that stops while it takes, renews or releases its lock leaves its own lock or none") {
    hdfs.makeFolder(".hoodie")
    val renewing = TableLock.Settings(timeoutMs = 5000, leaseMs = 60)
    for (n <- 1 to 30) {
      val stopped = FaultyFileSystem.failing(n, FaultyFileSystem.Dead)(TableLock.hold(hdfs, renewing)(_ =>
          Thread.sleep(50)))
      assert(!Files.exists(lockFile) || content.startsWith("{\"owner\":\"merganser\""), stopped)
      assert(TableLock.hold(hdfs, renewing)(_ => "next") == "next", stopped)
    }
  }

  test("one of several simultaneous creators of a lock file succeeds, Hudi included") {
    for (round <- 1 to 20) {
      val (file, created) = (s".hoodie/lock-$round", new AtomicInteger)
      def creating(create: => Unit) =
        new WaitingThread(
          try { create; created.incrementAndGet() }
          catch { case _: FileAlreadyExistsException => () },
          wait = false)
      val ours   = (1 to 3).map(i => creating(hdfs.createExclusively(file, s"ours $i".getBytes(UTF_8))))
      val theirs = creating(hdfs.fs.create(new Path(hdfs.basePath, file), false).close())
      (ours :+ theirs).foreach(_.thread.join(60000))
      assert((ours :+ theirs).flatMap(_.failure).isEmpty && created.get == 1)
    }
    assert(hdfs.list(".hoodie/.temp").isEmpty)
  }

  test("Hudi's lock blocks ours, and ours blocks Hudi's") {
    val lock = new Path(hdfs.basePath, ".hoodie/lock")
    hdfs.fs.create(lock, false).close()
    assert(conditionOf(TableLock.hold(hdfs, brief)(_ => ())) == "LOCK_TIMEOUT")
    assert(Files.size(lockFile) == 0)
    Files.delete(lockFile)
    TableLock.hold(hdfs, brief) { held =>
      assertThrows[java.io.IOException](hdfs.fs.create(lock, false))
      held.requireHeld()
    }
    assert(!Files.exists(lockFile))
  }
}
