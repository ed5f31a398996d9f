package io.merganser.table.storage

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.merganser.Extensive
import io.merganser.table.{FaultyFileSystem, HadoopDefaults, TableSuite}

// Guarantee (Concurrent writers): Every change of a table (writes, `ALTER TABLE`, planned compactions, upgrades) takes
//   its one lock, whichever path it is opened by; the lock of a live process is not taken over. Also:
//   test_every_change_of_a_table_waits_for_the_sessions_lock
@Extensive
final class TableLockSuite extends TableSuite {

  private val brief = TableLock.Settings(timeoutMs = 200, leaseMs = 60000)

  private def lockFile = folder.resolve("t/.hoodie/lock")

  test("threads of one process hold the lock one after the other") {
    val counter = folder.resolve("counter")
    Files.write(counter, "0".getBytes(UTF_8))
    val threads = (1 to 4).map(_ => new Thread(() => LockContender.count(storage, counter, 25)))
    threads.foreach(_.start())
    threads.foreach(_.join(60000))
    assert(new String(Files.readAllBytes(counter), UTF_8) == "100")
    assert(!Files.exists(lockFile))
  }

  test("processes hold the lock one after the other") {
    val counter = folder.resolve("counter")
    Files.write(counter, "0".getBytes(UTF_8))
    val other = LockContender.start(folder.resolve("t").toUri.toString, counter.toString, "50")
    LockContender.count(storage, counter, 50)
    assert(other.waitFor(60, TimeUnit.SECONDS) && other.exitValue == 0)
    assert(new String(Files.readAllBytes(counter), UTF_8) == "100")
  }

  test("the lock of a process that died is taken over after its lease") {
    val dead = LockContender.start(folder.resolve("t").toUri.toString, "die", "700")
    assert(dead.waitFor(60, TimeUnit.SECONDS))
    assert(Files.exists(lockFile))
    assert(TableLock.hold(storage, TableLock.Settings(timeoutMs = 10000, leaseMs = 700))(_ => "in") == "in")
    assert(!Files.exists(lockFile))
  }

  test("a live lock of another engine is waited for and never broken, and the timeout names file and holder") {
    Files.createDirectories(lockFile.getParent)
    Files.write(lockFile, "{\"lockThreadName\":\"driver-7\"}".getBytes(UTF_8))
    val refused = intercept[io.merganser.merge.MerganserException](TableLock.hold(storage, brief)(_ => ()))
    assert(refused.condition == "LOCK_TIMEOUT")
    assert(refused.getMessage.contains(".hoodie/lock") && refused.getMessage.contains("driver-7"))
    assert(Files.exists(lockFile))
  }

  test("a renewed lock is not taken over, even if it is held longer than its lease") {
    val lease  = TableLock.Settings(timeoutMs = 60000, leaseMs = 4000)
    val holder = LockContender.start(folder.resolve("t").toUri.toString, "hold", "4000", "6000")
    while (!Files.exists(folder.resolve("t/held"))) Thread.sleep(10)
    TableLock.hold(storage, lease)(_ => assert(Files.exists(folder.resolve("t/released"))))
    assert(holder.waitFor(60, TimeUnit.SECONDS) && holder.exitValue == 0)
  }

  test("a lock file that could not be removed does not block the same process") {
    val storage = faulty("t")
    storage.makeFolder(".hoodie")
    val (result, failed) = FaultyFileSystem.failing(5, FaultyFileSystem.Before)(TableLock.hold(storage)(_ => "done"))
    assert(result == Right("done") && failed.exists(_.contains("delete")))
    assert(storage.exists(TableLock.File))
    assert(TableLock.hold(storage, brief)(_ => "again") == "again")
    assert(!storage.exists(TableLock.File))
  }

  test("a half-written lock of another process is taken over once it is unchanged for a lease") {
    val whole = "{\"owner\":\"merganser\",\"process\":\"other\",\"token\":\"t\",\"host\":\"elsewhere\",\"pid\":\"1\"}"
    Files.createDirectories(lockFile.getParent)
    for (length <- Seq(21, 35, 60, whole.length - 1)) {
      Files.write(lockFile, whole.take(length).getBytes(UTF_8))
      val started = System.nanoTime()
      val lease   = TableLock.Settings(timeoutMs = 10000, leaseMs = 300)
      assert(TableLock.hold(storage, lease)(_ => "held") == "held")
      assert(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started) >= 300)
      assert(!Files.exists(lockFile))
    }
  }

  test("a half-written lock file of the same process does not block it") {
    val storage = faulty("t")
    storage.makeFolder(".hoodie")
    for (n <- 1 to 6) {
      FaultyFileSystem.failing(n, FaultyFileSystem.Lost)(TableLock.hold(storage, brief)(_ => "done"))
      assert(TableLock.hold(storage, brief)(_ => "again") == "again", n)
      assert(!storage.exists(TableLock.File), n)
    }
  }

  test("a writer that lost the lock gets a conflict") {
    val settings = TableLock.Settings(timeoutMs = 1000, leaseMs = 200)
    assert(conditionOf(TableLock.hold(storage, settings) { lock =>
      Files.write(lockFile, "{\"owner\":\"merganser\",\"token\":\"other\"}".getBytes(UTF_8))
      Thread.sleep(300)
      lock.requireHeld()
    }) == "COMMIT_CONFLICT")
    assert(Files.exists(lockFile))
  }

  test("a lock replaced by another engine is lost at once and not removed at the end") {
    assert(conditionOf(TableLock.hold(storage) { lock =>
      Files.write(lockFile, "{\"owner\":\"merganser\",\"token\":\"other\"}".getBytes(UTF_8))
      lock.requireHeld()
    }) == "COMMIT_CONFLICT")
    assert(Files.exists(lockFile))
    Files.delete(lockFile)
    assert(
      conditionOf(TableLock.hold(storage) { lock => Files.delete(lockFile); lock.requireHeld() }) == "COMMIT_CONFLICT")
  }

  test("this process's live lock is not taken over by a writer with another name of the table") {
    val link   = Files.createSymbolicLink(folder.resolve("link"), Files.createDirectories(folder.resolve("t")))
    val byLink = Storage(link.toString, HadoopDefaults.shared)
    // A name that cannot be recognized as that of the same table.
    val unknown = faulty("t")
    assert(byLink.identity == storage.identity && unknown.identity != storage.identity)
    TableLock.hold(storage) { lock =>
      Seq(byLink, unknown).foreach { name =>
        val waiting = new WaitingThread(TableLock.hold(name, brief)(_ => ()))
        assert(waiting.failure.exists(_.getMessage.contains("[LOCK_TIMEOUT]")))
      }
      lock.requireHeld()
    }
    TableLock.hold(unknown)(_ => ())
  }

  test("an empty lock file counts as another engine's and is not broken before its expiry") {
    Files.createDirectories(lockFile.getParent)
    Files.write(lockFile, Array.emptyByteArray)
    assert(conditionOf(TableLock.hold(storage, brief.copy(timeoutMs = 3300))(_ => ())) == "LOCK_TIMEOUT")
    val expiring = brief.copy(foreignExpiryMs = 60000)
    assert(conditionOf(TableLock.hold(storage, expiring)(_ => ())) == "LOCK_TIMEOUT")
    Files.setLastModifiedTime(lockFile, java.nio.file.attribute.FileTime.fromMillis(System.currentTimeMillis() - 61000))
    assert(conditionOf(TableLock.hold(storage, brief)(_ => ())) == "LOCK_TIMEOUT")
    assert(TableLock.hold(storage, expiring)(_ => "in") == "in" && !Files.exists(lockFile))
  }

  test("a configured lock folder of other engines is locked in addition to the table") {
    val settings = brief.copy(folder = Some(folder.resolve("locks").toUri.toString))
    val second   = folder.resolve("locks/lock")
    TableLock.hold(storage, settings) { lock =>
      assert(Files.exists(lockFile) && Files.exists(second))
      lock.requireHeld()
    }
    assert(!Files.exists(lockFile) && !Files.exists(second))
    Files.write(second, Array.emptyByteArray)
    val refused = intercept[io.merganser.merge.MerganserException](TableLock.hold(storage, settings)(_ => ()))
    assert(refused.condition == "LOCK_TIMEOUT" && refused.getMessage.contains("locks/lock") && !Files.exists(lockFile))
    TableLock.hold(storage, brief.copy(folder = Some(folder.resolve("t/.hoodie").toString)))(_ =>
      assert(Files.exists(lockFile)))
  }

  test("the release of a lock waits for a running renewal, which does not recreate the file") {
    val storage = faulty("t")
    storage.makeFolder(".hoodie")
    val (isRenewing, mayRenew) = (new CountDownLatch(1), new CountDownLatch(1))
    val slow = (what: String) =>
      if (what.matches("create .*/lock") && Thread.currentThread.getName == "merganser-periodic") {
        isRenewing.countDown()
        mayRenew.await(20, TimeUnit.SECONDS)
        ()
      }
    FaultyFileSystem.watching(slow) {
      val holder =
        new WaitingThread(TableLock.hold(storage, TableLock.Settings(leaseMs = 3000))(_ => isRenewing.await()),
          wait = false)
      assert(isRenewing.await(20, TimeUnit.SECONDS))
      Thread.sleep(50)
      assert(holder.thread.isAlive && storage.exists(TableLock.File))
      mayRenew.countDown()
      holder.thread.join(20000)
      assert(holder.failure.isEmpty && !storage.exists(TableLock.File))
    }
  }

  test("periodic work that hangs does not delay other work, and stopping waits for it") {
    val (isStuck, mayGoOn, others) = (new CountDownLatch(1), new CountDownLatch(1), new CountDownLatch(3))
    val stuck = new Periodic("hang", 5)(() => { isStuck.countDown(); mayGoOn.await(20, TimeUnit.SECONDS); () })
    assert(isStuck.await(20, TimeUnit.SECONDS))
    val lively = new Periodic("run", 5)(() => others.countDown())
    assert(others.await(20, TimeUnit.SECONDS))
    lively.stop()
    val stopping = new WaitingThread(stuck.stop(), wait = false)
    Thread.sleep(30)
    assert(stopping.thread.isAlive)
    mayGoOn.countDown()
    stopping.thread.join(20000)
    assert(!stopping.thread.isAlive)
  }

  test("an interrupt while the lock is held leaves no lock file and stays set") {
    val interrupted = new WaitingThread({
      TableLock.hold(storage)(_ => Thread.currentThread.interrupt())
      assert(Thread.currentThread.isInterrupted)
    })
    assert(interrupted.failure.isEmpty && !Files.exists(lockFile))
  }

  test("a thread cannot take the same lock twice") {
    TableLock.hold(storage)(_ => assertThrows[IllegalStateException](TableLock.hold(storage)(_ => ())))
  }
}

/** Does something in a thread of its own. */
final class WaitingThread(body: => Any, wait: Boolean = true) {
  @volatile var failure: Option[Throwable] = None
  val thread = new Thread(() =>
    try { body; () }
    catch { case e: Throwable => failure = Some(e) })
  thread.start()
  if (wait) thread.join(60000)
}

/** The other process. */
object LockContender {

  def main(args: Array[String]): Unit = {
    val storage = Storage(args(0), HadoopDefaults.shared)
    args(1) match {
      case "die" =>
        TableLock.hold(storage, TableLock.Settings(leaseMs = args(2).toLong))(_ => Runtime.getRuntime.halt(0))
      case "hold" =>
        TableLock.hold(storage, TableLock.Settings(leaseMs = args(2).toLong)) { _ =>
          storage.createNew("held", Array.emptyByteArray)
          Thread.sleep(args(3).toLong)
          storage.createNew("released", Array.emptyByteArray)
        }
      case counter => count(storage, Paths.get(counter), args(2).toInt)
    }
  }

  /** Reads, waits a little, writes: loses counts unless the lock keeps others out. */
  def count(storage: Storage, counter: java.nio.file.Path, times: Int): Unit = (1 to times).foreach { _ =>
    TableLock.hold(storage) { _ =>
      val seen = new String(Files.readAllBytes(counter), UTF_8).toInt
      Thread.sleep(1)
      Files.write(counter, (seen + 1).toString.getBytes(UTF_8))
    }
  }

  def start(args: String*): Process = startMain(LockContender, args: _*)

  /** @param main the object whose main method is to run */
  def startMain(main: AnyRef, args: String*): Process = {
    val java = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val command = Seq(java, "-Xmx256m", "-cp", System.getProperty("java.class.path"),
      main.getClass.getName.stripSuffix("$")) ++ args
    new ProcessBuilder(command: _*).inheritIO().start()
  }
}
