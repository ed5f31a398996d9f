package io.merganser.spark

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.spark.frame.FrameMerge
import io.merganser.table.{TableSuite, UsersClasses}
import org.apache.spark.SparkEnv

/** Classes that tables name: an administrator's list of those that they may, and what they state. */
final class AllowedClassesSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  private val key = "spark.merganser.merge.allowedClasses"

  /** Why the table's payload class cannot be used. */
  private def refusal(className: String, more: (String, String)*): String = intercept[MerganserException] {
    val options = this.options(mergeOnRead = false, bucketed = false) +
      ("hoodie.datasource.write.payload.class" -> className) ++ more
    frame(Nil).write.format("merganser").options(options).save(folder.resolve("t").toUri.toString)
  }.getMessage

  /** While the application has this configuration, from its start on. */
  private def started(allowed: String)(test: => Any): Unit = {
    SparkEnv.get.conf.set(key, allowed)
    try { test; () }
    finally { SparkEnv.get.conf.remove(key); () }
  }

  test("a class that the application does not allow is not loaded, and no session, write or table changes that") {
    started("com.example.*, org.acme.Payload") {
      assert(refusal("org.other.Payload").contains(s"is not among the classes that $key allows"))
      spark.conf.set(key, "*")
      try assert(refusal("org.other.Payload").contains("is not among"))
      finally spark.conf.unset(key)
      assert(refusal("org.other.Payload", key -> "*").contains("Set it where the Spark application is started"))
      assert(refusal("org.acme.PayloadOfOthers").contains("is not among"))
      for (allowed <- Seq("com.example.merge.Payload", "org.acme.Payload"))
        assert(refusal(allowed).contains("is not on the class path"))
    }
    started("")(assert(refusal("org.acme.Payload").contains("is not among")))
    assert(refusal("org.other.Payload").contains("is not on the class path"))
  }

  test("a merger that the application no longer allows is loaded neither to write nor to read a table that names it") {
    val merger = classOf[UsersClasses.Appending].getName
    val named  = Map("hoodie.write.record.merge.custom.implementation.classes" -> merger)
    val path   = folder.resolve("t").toUri.toString
    val options = this.options(mergeOnRead = true, bucketed = false) ++ named +
      ("hoodie.write.record.merge.mode" -> "CUSTOM") + ("hoodie.write.record.merge.strategy.id" -> UsersClasses.Id)
    def write(notation: String): Unit =
      frame(Notation.changes(notation)).write.format("merganser").options(options).mode("append").save(path)
    def read: Seq[String] = spark.read.format("merganser").options(named).load(path).select("v").collect()
      .map(_.getString(0)).toSeq
    started(merger.takeWhile(_ != '$') + "*") {
      write("k1@10=a")
      write("k1@20=b")
      assert(read == Seq("ab"))
    }
    started("com.example.*") {
      for (use <- Seq[() => Any](() => write("k1@30=c"), () => read)) {
        val refusal = intercept[MerganserException](use())
        assert(refusal.condition == "MERGER_UNAVAILABLE")
        assert(refusal.getMessage.contains(merger) && refusal.getMessage.contains(s"the classes that $key allows"))
      }
    }
    assert(read == Seq("ab"))
  }

  test("a law that a merger states wrongly is refused by writes and by merges of plain frames") {
    val options =
      (this.options(mergeOnRead = true, bucketed = false) - "hoodie.datasource.write.partitionpath.field") ++
        Map(
          "hoodie.write.record.merge.custom.implementation.classes" -> classOf[UsersClasses.StatingWrongly].getName,
          "hoodie.write.record.merge.mode" -> "CUSTOM",
          "hoodie.write.record.merge.strategy.id" -> UsersClasses.Id
        )
    val rows = frame(Notation.changes("k1@10=a"))
    val uses = Seq[() => Any](
      () => rows.write.format("merganser").options(options).save(folder.resolve("t").toUri.toString),
      () => FrameMerge(spark, None, rows, options)
    )
    for (use <- uses) assert(intercept[MerganserException](use()).condition == "MERGER_NOT_ASSOCIATIVE")
  }

  test("classic payload classes are accepted without loading them") {
    started("") {
      val options = this.options(mergeOnRead = false, bucketed = false) +
        ("hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
      frame(Nil).write.format("merganser").options(options).save(folder.resolve("t").toUri.toString)
    }
  }
}
