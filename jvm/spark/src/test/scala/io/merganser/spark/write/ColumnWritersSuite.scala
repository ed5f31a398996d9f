package io.merganser.spark.write

import io.merganser.merge.MerganserException
import io.merganser.spark.LocalSession
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.TempFolder
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.udf
import org.scalatest.funsuite.AnyFunSuite

/** Frames that change a table's columns while another writer does so too. */
class ColumnWritersSuite extends AnyFunSuite with LocalSession with TempFolder {

  override protected def master: String = "local[2]"

  /** Every insert gets a file group of its own, so that only the columns are in common. */
  private def writeOptions(mergeOnRead: Boolean): Map[String, String] = Map(
    "hoodie.table.name" -> "t",
    "hoodie.datasource.write.table.type" -> (if (mergeOnRead) "MERGE_ON_READ" else "COPY_ON_WRITE"),
    "hoodie.datasource.write.recordkey.field" -> "k",
    "hoodie.table.ordering.fields" -> "ts",
    "hoodie.clean.failed.writes.policy" -> "LAZY",
    "hoodie.parquet.small.file.limit" -> "0"
  )

  private def save(place: String, rows: DataFrame, mergeOnRead: Boolean): Unit =
    rows.write.format("merganser").options(writeOptions(mergeOnRead)).mode("append").save(place)

  private def rows(place: String, columns: String*): Set[Seq[Any]] =
    spark.read.format("merganser").load(place).selectExpr(columns: _*).collect().map(_.toSeq).toSet

  for (mergeOnRead <- Seq(false, true)) {
    val kind = if (mergeOnRead) "merge-on-read" else "copy-on-write"

    test(s"two concurrent frames with different new columns both keep theirs, on a $kind table") {
      val place = folder.resolve(s"both-$mergeOnRead").toString
      save(place, spark.sql("SELECT 'a' k, 1 ts"), mergeOnRead)
      val other = spark.newSession()
      // The first writer's rows are made when it has begun; then the second one writes and commits.
      val inside = new ColumnWritersSuite.Once(() =>
        save(place, other.sql("SELECT 'b' k, CAST(1 AS BIGINT) ts, 'theirs' b"), mergeOnRead))
      spark.udf.register("meanwhile", udf((k: String) => ColumnWritersSuite.after(k)).asNondeterministic())
      ColumnWritersSuite.meanwhile = inside
      save(place, spark.sql("SELECT meanwhile(k) k, 1 ts, 7 c FROM VALUES ('c') AS v(k)"), mergeOnRead)
      assert(inside.isDone)
      assert(rows(place, "k", "ts", "b", "c") ==
        Set(Seq[Any]("a", 1L, null, null), Seq[Any]("b", 1L, "theirs", null), Seq[Any]("c", 1L, null, 7)))
      save(place, spark.sql("SELECT 'a' k, 2 ts, 'new' b, 8 c"), mergeOnRead)
      assert(rows(place, "k", "ts", "b", "c").contains(Seq[Any]("a", 2L, "new", 8)))
    }

    test(s"a write planned before the columns changed is a conflict, on a $kind table") {
      val place = folder.resolve(s"planned-$mergeOnRead").toString
      save(place, spark.sql("SELECT 'a' k, 1 ts"), mergeOnRead)
      val opened = OpenTable.load(spark, place)
      save(place, spark.sql("SELECT 'a' k, 2 ts, 'kept' b"), mergeOnRead)
      val error = intercept[MerganserException](FrameWrite.append(spark, opened, writeOptions(mergeOnRead),
          spark.sql("SELECT 'a' k, 3 ts")))
      assert(error.condition == "COMMIT_CONFLICT" && error.getMessage.contains("columns"))
      assert(rows(place, "k", "ts", "b") == Set(Seq[Any]("a", 2, "kept")))
    }
  }
}

object ColumnWritersSuite {

  /** Of the test that runs: tasks run in its own process. */
  @volatile var meanwhile: Once = _

  final class Once(work: () => Unit) {
    @volatile var isDone = false

    /** In a thread of its own: a task may start no job. */
    def run(): Unit = synchronized {
      if (!isDone) {
        isDone = true
        @volatile var failure: Throwable = null
        val thread = new Thread(() =>
          try work()
          catch { case e: Throwable => failure = e })
        thread.start()
        thread.join()
        if (failure != null) throw failure
      }
    }
  }

  def after(key: String): String = {
    meanwhile.run()
    key
  }
}
