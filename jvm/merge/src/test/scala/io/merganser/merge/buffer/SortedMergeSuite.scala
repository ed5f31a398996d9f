package io.merganser.merge.buffer

import io.merganser.merge._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.xbean.asm9.{ClassReader, ClassVisitor, MethodVisitor, Opcodes}
import org.apache.xbean.asm9.commons.CodeSizeEvaluator
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.mutable

class SortedMergeSuite extends AnyFunSuite {
  private val rule = MergeRule.eventTime(Notation.layout)

  private def merge(base: String, versions: String, combineNew: Boolean = true, rule: MergeRule = rule): SortedMerge =
    way(if (combineNew) SortedMerge.rewrite(_, _, _, _) else SortedMerge.rewriteUncombined _, base, versions, rule)

  private type Way = (Iterator[InternalRow], VersionCursor, RowLayout, KeyFold) => SortedMerge

  private def way(merge: Way, base: String, versions: String, rule: MergeRule): SortedMerge =
    merge(new StoredRows(Notation.changes(base)), new Versions(Notation.changes(versions)), Notation.layout,
      MergePaths.fold(rule))

  private def lines(base: String, versions: String, combineNew: Boolean = true): Seq[String] =
    MergePaths.lines(merge(base, versions, combineNew))

  test("keys come out in order, stored and new ones") {
    assert(
      lines("b@1=b d@1=d", "a@1=a b@2=x c@1=c d@0=y e@1=e") ==
        Seq("Inserted a@1=a", "Updated b@2=x", "Inserted c@1=c", "Kept d@1=d", "Inserted e@1=e")
    )
  }

  test("keys are ordered by their unsigned bytes") {
    val keys =
      lines("B@1=1 z@1=2", "a@1=3 \u00e9@1=4 \uffee@1=5 \ud83e\udd86@1=6").map(_.split(" ")(1).takeWhile(_ != '@'))
    assert(keys == Seq("B", "a", "z", "\u00e9", "\uffee", "\ud83e\udd86"))
  }

  test("a key that is stored twice is merged with its versions each time") {
    assert(
      lines("k1@1=a k1@9=b k1@2=c k2@1=d", "k1@5=x") == Seq("Updated k1@5=x", "Kept k1@9=b", "Updated k1@5=x",
        "Unchanged k2@1=d")
    )
    assert(lines("k1@1=a k1@9=b", "k1-") == Seq("Deleted k1", "Deleted k1"))
    assert(lines("k1@1=a k1@9=b k2@1=c", "k1- k1@5=x") == Seq("Updated k1@5=x", "Deleted k1", "Unchanged k2@1=c"),
      "one row anew")
  }

  test("more versions of a key than memory takes are an error that names the key; those of other keys do not count") {
    val apart = MergePaths.fold(new MergePaths.Apart(rule))
    def of(versions: String) =
      SortedMerge.rewrite(Iterator.empty, new Versions(Notation.changes(versions)), Notation.layout, apart,
        new KeyMemory(1000))
    assert(MergePaths.lines(of((1 to 50).map(i => f"k$i%02d@1=a k$i%02d@2=b").mkString(" "))).size == 50)
    val error = intercept[MerganserException](MergePaths.lines(of((1 to 50).map(i => s"hot@$i=a").mkString(" "))))
    assert(error.condition == "KEY_VERSIONS_TOO_LARGE" && error.parameters("key") == "hot")
  }

  test("a merge works without stored rows, without versions and without both") {
    assert(lines("", "k1@1=a k1@2=b") == Seq("Inserted k1@2=b"))
    assert(lines("k1@1=a k2@1=b", "") == Seq("Unchanged k1@1=a", "Unchanged k2@1=b"))
    assert(lines("", "").isEmpty)
  }

  test("without combining, each version of a new key is a row, and a stored key is merged with all") {
    assert(
      lines("k2@1=s", "k1@10=a k1@5=b k1@7- k2@3=c k2@2=d", combineNew = false) ==
        Seq("Inserted k1@10=a", "Inserted k1@5=b", "Absent k1", "Updated k2@3=c")
    )
  }

  test("versions that are only inserted follow the stored rows, combined or one by one") {
    def beside(base: String, versions: String, combineNew: Boolean) = MergePaths.lines(
      way(if (combineNew) SortedMerge.insertBeside _ else SortedMerge.insertUncombined _, base, versions, rule)
    )
    val (base, versions) = ("k1@1=a k2@1=b k2@9=c k4@1=d", "k2@3=x k2@2=y k3@1=z k4-")
    assert(
      beside(base, versions, combineNew = true) == Seq(
        "Unchanged k1@1=a",
        "Unchanged k2@1=b",
        "Unchanged k2@9=c",
        "Inserted k2@3=x",
        "Inserted k3@1=z",
        "Unchanged k4@1=d",
        "Absent k4"
      )
    )
    assert(
      beside(base, versions, combineNew = false) == Seq(
        "Unchanged k1@1=a",
        "Unchanged k2@1=b",
        "Unchanged k2@9=c",
        "Inserted k2@3=x",
        "Inserted k2@2=y",
        "Inserted k3@1=z",
        "Unchanged k4@1=d",
        "Absent k4"
      )
    )
  }

  test("the stored row is available beside the one that replaced it") {
    for ((path, way) <- MergePaths.all) {
      val merging =
        way(Notation.changes("k1@1=a k2@1=b k3@1=c k4@9=d"), Notation.changes("k1@2=x k2- k4@1=y k5@1=z"), rule)
      var seen = Map.empty[String, String]
      while (merging.next())
        seen += Notation.layout.key(merging.row).toString -> Option(merging.storedRow).fold("none")(
          Notation.read(_).toString)
      assert(seen == Map("k1" -> "k1@1=a", "k2" -> "k2@1=b", "k3" -> "k3@1=c", "k4" -> "k4@9=d", "k5" -> "none"), path)
    }
  }

  test("versions are counted, and those that were not the first of their key") {
    for (combineNew <- Seq(true, false)) {
      val merging = merge("k2@1=s k9@1=t", "k1@1=a k2@1=b k2@2=c k2@3- k3-", combineNew)
      assert(merging.versionCount == 0)
      MergePaths.lines(merging)
      assert(merging.versionCount == 5 && merging.duplicateCount == 2)
    }
  }

  test("next returns false repeatedly after the last row") {
    val merging = merge("k1@1=a", "k2@1=b")
    MergePaths.lines(merging)
    assert(!merging.next() && !merging.next())
  }

  test("the loop of most rows is small, and the code for few rows is too large to be inlined into it") {
    val frequent = 325 // bytes: FreqInlineSize of the JVM
    val sizes    = bytecodes(classOf[SortedMerge])
    assert(sizes("next") < frequent / 2)
    assert(sizes("advance") > frequent)
  }

  /** Least number of bytes of each method by name. */
  private def bytecodes(of: Class[_]): collection.Map[String, Int] = {
    val sizes = mutable.HashMap.empty[String, Int]
    val visitor = new ClassVisitor(Opcodes.ASM9) {
      override def visitMethod(
          access: Int,
          name: String,
          descriptor: String,
          signature: String,
          exceptions: Array[String]
      ): MethodVisitor = new CodeSizeEvaluator(null) {
        override def visitEnd(): Unit = { sizes(name) = getMinSize }
      }
    }
    val in = of.getResourceAsStream(s"${of.getSimpleName}.class")
    try new ClassReader(in).accept(visitor, 0)
    finally in.close()
    sizes
  }
}
