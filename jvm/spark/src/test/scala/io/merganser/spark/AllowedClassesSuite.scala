package io.merganser.spark

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import org.apache.spark.SparkEnv

/** An administrator's list of the classes that tables may name. */
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

  test("classes that stand for a rule of ours are no classes to load") {
    started("") {
      val options = this.options(mergeOnRead = false, bucketed = false) +
        ("hoodie.datasource.write.payload.class" -> "org.apache.hudi.common.model.DefaultHoodieRecordPayload")
      frame(Nil).write.format("merganser").options(options).save(folder.resolve("t").toUri.toString)
    }
  }
}
