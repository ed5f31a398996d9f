package io.merganser.table

import java.nio.file.Files

import io.merganser.conformance.{CoalesceFields, KeepFirst}
import io.merganser.merge.{MerganserException, Notation, RecordMerger}
import io.merganser.table.commit.Creation
import io.merganser.table.storage.Storage
import org.scalatest.{Assertion, BeforeAndAfterEach}
import org.scalatest.funsuite.AnyFunSuite

/** Users' mergers and payload classes through files: the same on every path. */
class UserRulesSuite extends AnyFunSuite with BeforeAndAfterEach {
  private var folder: java.nio.file.Path = _
  private var tables                     = 0

  override protected def beforeEach(): Unit = folder = Files.createTempDirectory("merganser-users")

  override protected def afterEach(): Unit = { org.apache.hadoop.fs.FileUtil.fullyDelete(folder.toFile); () }

  private val appending = byMerger(classOf[UsersClasses.Appending], UsersClasses.Id)
  private val words = Rule(Map("hoodie.record.merge.strategy.id" -> "00000000-0000-0000-0000-000000000000",
      "hoodie.compaction.payload.class" -> classOf[UsersClasses.Words].getName), Nil)

  private def byMerger(merger: Class[_ <: RecordMerger], id: String) =
    Rule(Map("hoodie.record.merge.strategy.id" -> id), Seq(merger.getName))

  private def table(name: String, rule: Rule, mergeOnRead: Boolean): DirectTable = {
    tables += 1
    val storage = Storage(folder.resolve(s"$tables-$name").toUri.toString, HadoopDefaults.shared)
    Creation.create(storage,
      DirectTable.properties(mergeOnRead) + ("hoodie.record.merge.mode" -> "CUSTOM") ++ rule.properties)
    new DirectTable(storage, bucketed = true, mergers = rule.classes)
  }

  private def rows(table: DirectTable): String = table.rows.map(_.toString).sorted.mkString(" ")

  /** Batches apart by `|`; on copy on write, on merge on read, and compacted after every batch. */
  private def assertEverywhere(rule: Rule, batches: String, expected: String): Assertion = {
    val each = batches.split('|').toSeq.map(Notation.changes)
    for ((path, mergeOnRead, compacts) <- Seq(("cow", false, false), ("mor", true, false), ("compacted", true, true))) {
      val table = this.table(path, rule, mergeOnRead)
      each.foreach { batch =>
        table.upsert(batch)
        if (compacts) table.compact()
      }
      assert(rows(table) == expected, s"($path)")
      assert(table.explainedRows(each.flatten.map(_.key)).sorted == table.shownRows.sorted, s"($path, explained)")
      if (mergeOnRead && !compacts) {
        table.compact()
        assert(rows(table) == expected, "(mor, compacted at the end)")
      }
    }
    succeed
  }

  test("a merger that depends on grouping folds versions from the stored row in order") {
    assertEverywhere(appending, "k1@1=a | k1@2=b k1@1=c | k1@5=d", expected = "k1@5=abcd")
    assertEverywhere(appending, "k1@1=a k1@2=b | k2@1=x | k2@1=y", expected = "k1@2=ab k2@1=xy")
  }

  test("a merger is not called with values from before a delete") {
    assertEverywhere(appending, "k1@1=a | k1- | k1@2=b | k1@3=c", expected = "k1@3=bc")
    assertEverywhere(appending, "k1@1=a | k1@2- | k1@3=b | k1@4=c", expected = "k1@4=bc")
    assertEverywhere(appending, "k1@1=a | k1@2- k1@3=b k1@4=c", expected = "k1@4=bc")
    assertEverywhere(byMerger(classOf[CoalesceFields], new CoalesceFields().getMergingStrategy),
      "k1@1=a,b | k1- | k1@3=null,c",
      expected = "k1@3=null,c")
  }

  test("a merger that keeps the stored row ignores all later versions") {
    assertEverywhere(byMerger(classOf[KeepFirst], new KeepFirst().getMergingStrategy), "k1@1=a | k1@2=b k2@1=c k2@2=d",
      "k1@1=a k2@1=c")
  }

  test("a payload computes the inserted, the updated and the combined row") {
    assertEverywhere(words, "k1@1=a k2@1=never k3@1=c,1 k3@2=d,0", expected = "k1@1=(a) k3@1=(c),1")
    assertEverywhere(words, "k1@1=a | k1@2=b | k1@1=late", expected = "k1@2=(a)b")
    assertEverywhere(words, "k1@1=a | k1@2=b,1 k1@3=c,0 | k1@4=d", expected = "k1@4=(a)bd")
  }

  test("a payload that returns nothing deletes the row, and the next version is an insert") {
    assertEverywhere(words, "k1@1=a | k1@2=gone", expected = "")
    assertEverywhere(words, "k1@1=a | k1@2=gone | k1@1=b | k1@2=c", expected = "k1@2=(b)c")
  }

  test("deletes by flag or by key are not passed to the payload") {
    assertEverywhere(words, "k1@1=a | k1@2-", expected = "")
    assertEverywhere(words, "k1@2=a | k1@1-", expected = "k1@2=(a)")
    assertEverywhere(words, "k1@2=a | k1-", expected = "")
    assertEverywhere(words, "k1@2=a | k1- | k1@1=b | k1@2=c", expected = "k1@2=(b)c")
    assertEverywhere(words, "k1@1=a | k1@2- k1@3=b | k1@4=c", expected = "k1@4=(b)c")
    assertEverywhere(words, "k1@1=a | k1@2=b k1@1- | k1@4=c", expected = "k1@4=(a)bc")
  }

  test("an error in a payload names the class, the key and the file group") {
    val table = this.table("t", words, mergeOnRead = false)
    table.upsert(Notation.changes("k1@1=a"))
    val error = intercept[MerganserException](table.upsert(Notation.changes("k1@2=broken")))
    assert(error.condition == "MERGER_FAILED")
    assert(error.parameters("merger") == classOf[UsersClasses.Words].getName)
    assert(error.parameters("key") == "k1")
    assert(error.parameters("fileGroup").startsWith("p1/"))
    assert(error.getCause.getMessage == "broken words")
    assert(rows(table) == "k1@1=(a)", "the failed write left nothing")
  }
}

/** What a table stores of its rule, and the classes that its users name. */
private final case class Rule(properties: Map[String, String], classes: Seq[String])
