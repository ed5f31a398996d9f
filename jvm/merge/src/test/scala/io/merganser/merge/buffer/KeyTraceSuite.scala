package io.merganser.merge.buffer

import io.merganser.merge._
import org.scalatest.funsuite.AnyFunSuite

/** The versions of a key, merged one after the other: the result is that of every path, and each has its outcome. */
class KeyTraceSuite extends AnyFunSuite {
  import KeyTraceSuite._

  for (builtIn <- BuiltInRules.all)
    test(s"${builtIn.oracle}: the trace of any history ends with the rows of the oracle") {
      Histories.forAll(partials = true, BuiltInRules.Unavailable, HistoriesSuite.countEach) { (h, _) =>
        val base = h.base.groupBy(_.key).values.map(_.head).toSeq // a key is stored once
        val keys = (base ++ h.versions).map(_.key).distinct
        val rows = keys.flatMap { key =>
          val trace = traced(builtIn.rule, base.find(_.key == key), h.versions.filter(_.key == key))._1
          Option(trace.live).map(live => Notation.read(live.row).toString)
        }
        rows -> Oracle.rows(Oracle.merge(builtIn.oracle, base, h.versions)).map(_.toString)
      }
    }

  test("event time: each version has its outcome, and a partial row after a delete is ignored") {
    val words = "k@7=b k@5=late k@7=tie k@9- k@_=x,_ k@8=late k@12=c k-"
    assert(outcomes(Some("k@3=a"), words) == Seq(Outcome.Updated, Outcome.Late, Outcome.Updated, Outcome.Deleted,
      Outcome.Unchanged, Outcome.Late, Outcome.Inserted, Outcome.Deleted))
    assert(outcomes(None, "k@_=x,_ k@3- k@5=a") == Seq(Outcome.Unchanged, Outcome.Absent, Outcome.Inserted))
  }

  test("each step of a trace has the row before the merge and the row after it") {
    val (_, steps) =
      traced(MergeRule.eventTime(Notation.layout), Some(Notation.change("k@3=a,b")), Notation.changes("k@7=_,x"))
    val step = steps.head
    assert(Notation.read(step.before.row).toString == "k@3=a,b")
    assert(Notation.read(step.after.row).toString == "k@7=a,x")
  }

  private def outcomes(stored: Option[String], words: String): Seq[Int] =
    traced(MergeRule.eventTime(Notation.layout), stored.map(Notation.change), Notation.changes(words))._2.map(_.outcome)
}

private object KeyTraceSuite {

  def traced(rule: MergeRule, stored: Option[Change], versions: Seq[Change]): (KeyTrace, Seq[TraceStep]) = {
    val trace = new KeyTrace(MergePaths.fold(rule), stored.map(Notation.record).orNull)
    trace -> versions.map(v => trace.add(Notation.record(v)))
  }
}
