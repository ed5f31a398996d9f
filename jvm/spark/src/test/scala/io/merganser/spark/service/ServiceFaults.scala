package io.merganser.spark.service

import java.nio.file.{Path => NioPath}

import io.merganser.spark.write.FaultPoints
import io.merganser.table.TableSuite
import io.merganser.table.storage.Storage

/** Tables and calls of the suites whose file system fails at an operation of a service. */
trait ServiceFaults extends FaultPoints { this: TableSuite =>

  override protected def master: String = "local[1]"

  protected val before = "k1@10=a k2@10=b k3@10=c k4@10=d"
  protected val batch  = "k1@20=A k2@20- k5@20=e k6@20=f"

  /** A batch that goes to log files: without an index by hash, files get no new keys in logs. */
  protected def logged(bucketed: Boolean): String = if (bucketed) batch else "k1@20=A k2@20- k4@20=D"

  protected def options(mergeOnRead: Boolean, version: String = "9"): Map[String, String] =
    options(mergeOnRead, bucketed = false) + ("hoodie.write.table.version" -> version)

  protected def later(options: Map[String, String]): Map[String, String] = options - "hoodie.write.table.version"

  protected def prepare(options: Map[String, String])(more: Storage => Unit): NioPath = {
    val storage = faulty("prepared")
    write(storage, before, options)
    more(storage)
    folder.resolve("prepared")
  }

  protected def sql(text: String): Unit = { spark.sql(text).collect(); () }

  protected def kind(mergeOnRead: Boolean): String = if (mergeOnRead) "merge on read" else "copy on write"

  protected def compaction(storage: Storage, op: String): Unit =
    sql(s"CALL run_compaction(op => '$op', path => '$storage')")
}
