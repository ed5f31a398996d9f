package io.merganser.table

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.concurrent.TimeUnit

import org.apache.hadoop.conf.Configuration

final class TableLockSuite extends TableSuite {

  private val brief = TableLock.Settings(timeoutMs = 200, leaseMs = 60000)

  private def lockFile = folder.resolve("t/.hoodie/lock")

  test("threads of one process enter one after the other") {
    val counter = folder.resolve("counter")
    Files.write(counter, "0".getBytes(UTF_8))
    val threads = (1 to 4).map(_ => new Thread(() => LockContender.count(storage, counter, 25)))
    threads.foreach(_.start())
    threads.foreach(_.join(60000))
    assert(new String(Files.readAllBytes(counter), UTF_8) == "100")
    assert(!Files.exists(lockFile))
  }

  test("processes enter one after the other") {
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

  test("a live lock of another engine is waited for, then refused with the file and the holder; never broken") {
    Files.createDirectories(lockFile.getParent)
    Files.write(lockFile, "{\"lockThreadName\":\"driver-7\"}".getBytes(UTF_8))
    val refused = intercept[io.merganser.merge.MerganserException](TableLock.hold(storage, brief)(_ => ()))
    assert(refused.condition == "LOCK_TIMEOUT")
    assert(refused.getMessage.contains(".hoodie/lock") && refused.getMessage.contains("driver-7"))
    assert(Files.exists(lockFile))
  }

  test("a lock that is renewed is not taken over, however long it is held") {
    val lease  = TableLock.Settings(timeoutMs = 60000, leaseMs = 2000)
    val holder = LockContender.start(folder.resolve("t").toUri.toString, "hold", "2000", "5000")
    while (!Files.exists(folder.resolve("t/held"))) Thread.sleep(10)
    TableLock.hold(storage, lease)(_ => assert(Files.exists(folder.resolve("t/released"))))
    assert(holder.waitFor(60, TimeUnit.SECONDS) && holder.exitValue == 0)
  }

  test("a lock file that could not be removed does not block the same process") {
    val storage = faulty("t")
    storage.makeFolder(".hoodie")
    val (result, failed) = FaultyFileSystem.failing(4, FaultyFileSystem.Before)(TableLock.hold(storage)(_ => "done"))
    assert(result == Right("done") && failed.exists(_.contains("delete")))
    assert(storage.exists(TableLock.File))
    assert(TableLock.hold(storage, brief)(_ => "again") == "again")
    assert(!storage.exists(TableLock.File))
  }

  test("who lost the lock must not go on") {
    val settings = TableLock.Settings(timeoutMs = 1000, leaseMs = 200)
    assert(conditionOf(TableLock.hold(storage, settings) { lock =>
      Files.write(lockFile, "{\"owner\":\"merganser\",\"token\":\"other\"}".getBytes(UTF_8))
      Thread.sleep(300)
      lock.requireHeld()
    }) == "COMMIT_CONFLICT")
    assert(Files.exists(lockFile))
  }

  test("one thread does not enter twice") {
    TableLock.hold(storage)(_ => assertThrows[IllegalStateException](TableLock.hold(storage)(_ => ())))
  }
}

/** The other process. */
object LockContender {

  def main(args: Array[String]): Unit = {
    val storage = Storage(args(0), new Configuration())
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
    val java    = Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val command = Seq(java, "-Xmx256m", "-cp", System.getProperty("java.class.path"), main.getClass.getName.stripSuffix("$")) ++ args
    new ProcessBuilder(command: _*).inheritIO().start()
  }
}
