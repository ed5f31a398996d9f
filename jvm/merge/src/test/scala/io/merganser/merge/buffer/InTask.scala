package io.merganser.merge.buffer

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import org.apache.commons.io.FileUtils
import org.apache.spark.{SparkConf, SparkContext, TaskContext}
import org.scalatest.{BeforeAndAfterAll, Suite}

import scala.collection.JavaConverters._
import scala.util.Try

/** Runs a body inside a task, with its memory manager; a task that does not release its memory fails. */
trait InTask extends BeforeAndAfterAll { this: Suite =>
  private var context: SparkContext = _
  private val localDirectory: Path  = Files.createTempDirectory("merganser-spill")

  override def beforeAll(): Unit = {
    super.beforeAll()
    context = new SparkContext(
      new SparkConf(false)
        .setMaster("local[1]")
        .setAppName("spill")
        .set("spark.ui.enabled", "false")
        .set("spark.driver.host", "localhost")
        .set("spark.local.dir", localDirectory.toString)
        .set("spark.buffer.pageSize", "64k")
        .set("spark.shuffle.spill.numElementsForceSpillThreshold", "8")
        .set("spark.unsafe.exceptionOnMemoryLeak", "true")
    )
  }

  override def afterAll(): Unit = {
    try {
      context.stop()
      FileUtils.deleteDirectory(localDirectory.toFile)
    } finally super.afterAll()
  }

  /** Returns the body's result; its exceptions are rethrown here. */
  def inTask[A](body: => A): A = {
    val id = InTask.next.incrementAndGet()
    InTask.bodies.put(id, () => body)
    try {
      context.runJob(context.parallelize(Seq(id), 1), InTask.run)
      InTask.results.remove(id).get.asInstanceOf[A]
    } finally InTask.bodies.remove(id)
  }

  /** The current spill files. */
  def spillFiles: Seq[Path] = {
    val files = Files.walk(localDirectory)
    try files.iterator.asScala.filter(file =>
        Files.isRegularFile(file) && file.getFileName.toString.startsWith("temp_local_")).toList
    finally files.close()
  }
}

object InTask {
  private val next    = new AtomicLong
  private val bodies  = new ConcurrentHashMap[Long, () => Any]
  private val results = new ConcurrentHashMap[Long, Try[Any]]

  private val run: Iterator[Long] => Unit = ids => ids.foreach(id => results.put(id, Try(bodies.get(id)())))

  def diskBytesSpilled: Long = TaskContext.get().taskMetrics().diskBytesSpilled
}
