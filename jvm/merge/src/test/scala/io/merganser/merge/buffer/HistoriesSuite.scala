package io.merganser.merge.buffer

import io.merganser.merge.MergePaths.Apart
import io.merganser.merge._
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Random histories, each way through the merge, against the oracle. */
class HistoriesSuite extends AnyFunSuite {

  for (builtIn <- BuiltInRules.all ++ BuiltInRules.declared) {
    val (mode, rule) = (builtIn.oracle, builtIn.rule)
    val count        = HistoriesSuite.countEach
    for ((path, merge) <- MergePaths.all)
      test(s"$mode: $path, any history gives the result of the oracle") {
        Histories.forAll(partials = true, BuiltInRules.Unavailable, count) { (h, _) =>
          MergePaths.lines(merge(h.base, h.versions, rule)) -> Oracle.merge(mode, h.base, h.versions)
        }
      }

    for ((claim, claimed) <- Seq("" -> rule, ", apart" -> new Apart(rule)))
      test(s"$mode: sorted$claim, without combining, each version of a key that is not stored is a row of its own") {
        Histories.forAll(partials = true, BuiltInRules.Unavailable, count) { (h, _) =>
          val merge = SortedMerge.rewriteUncombined(
            new StoredRows(MergePaths.inKeyOrder(h.base)),
            new Versions(MergePaths.inKeyOrder(h.versions)),
            Notation.layout,
            MergePaths.fold(claimed)
          )
          MergePaths.lines(merge) -> Oracle.merge(mode, h.base, h.versions, combineNew = false)
        }
      }

    if (rule.laws.associative && !rule.laws.buffersDeletes) for ((path, merge) <- MergePaths.all.take(2))
      test(s"$mode: $path, versions that were combined in groups of any size give the same") {
        Histories.forAll(partials = false, BuiltInRules.Unavailable, count) { (h, random) =>
          val regrouped = new VersionBuffer(Notation.layout, MergePaths.fold(rule), Long.MaxValue)
          for (group <- HistoriesSuite.cut(h.versions, random)) {
            val combined = merge(Nil, group, rule)
            while (combined.next()) regrouped.add(combined.winner)
          }
          MergePaths.lines(regrouped.merge(new StoredRows(h.base), baseSorted = false)) -> Oracle.merge(mode, h.base,
            h.versions)
        }
      }

    for ((path, merge) <- MergePaths.all)
      test(s"$mode: $path, rewriting the stored rows after each commit matches the oracle") {
        Histories.forAll(partials = true, BuiltInRules.Unavailable, count) { (h, random) =>
          val commits = HistoriesSuite.cut(h.versions, random)
          val came =
            commits.foldLeft(h.base)((rows, commit) => Oracle.rows(MergePaths.lines(merge(rows, commit, rule))))
          val expected = commits.foldLeft(h.base)((rows, commit) => Oracle.rows(Oracle.merge(mode, rows, commit)))
          came.map(_.toString) -> expected.map(_.toString)
        }
      }
  }

  test("the oracle distinguishes a delete, a late row and a tie") {
    val history = History(Notation.changes("k1@10=a k2@10=b k3@10=c"), Notation.changes("k1- k2@9=x k3@10=y k1@1=z"))
    assert(
      Oracle.merge(Oracle.EventTime, history.base, history.versions).toSet == Set("Updated k1@1=z", "Kept k2@10=b",
        "Updated k3@10=y")
    )
  }
}

object HistoriesSuite {

  /** Histories for each rule and each way. */
  val countEach = 100

  /** The versions in runs of one to four. */
  def cut(versions: Seq[Change], random: Random): Seq[Seq[Change]] =
    if (versions.isEmpty) Nil
    else {
      val (first, rest) = versions.splitAt(1 + random.nextInt(4))
      first +: cut(rest, random)
    }
}
