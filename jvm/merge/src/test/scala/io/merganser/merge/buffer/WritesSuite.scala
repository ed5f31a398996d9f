package io.merganser.merge.buffer

import io.merganser.merge.MergePaths.{inKeyOrder, lines}
import io.merganser.merge._
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.mutable
import scala.util.Random

/** Random batches, written and read each way that a table's files are, against the oracle. No files, no engine. */
class WritesSuite extends AnyFunSuite {
  import WritesSuite._

  private val count = 150

  for (builtIn <- BuiltInRules.all ++ BuiltInRules.declared) {
    val (oracle, rule) = (builtIn.oracle, builtIn.rule)

    def check(way: String)(write: (Writes, Random) => (Seq[String], Seq[String])): Unit =
      test(s"$oracle: $way, $count random histories match the oracle after every write") {
        Histories.forAllWrites(partials = true, BuiltInRules.Unavailable, count)(write)
      }

    def afterEach(writes: Writes, rule: MergeRule)(change: (Group, Seq[Change]) => Group)(
        expect: (Oracle.FileGroup, Seq[Change]) => Oracle.FileGroup
    ): (Seq[String], Seq[String]) = {
      val actual   = writes.batches.scanLeft(new Group(writes.base, Nil, rule))(change).tail
      val expected = writes.batches.scanLeft(Oracle.FileGroup(writes.base))(expect).tail
      actual.zipWithIndex.flatMap { case (group, i) => numbered(i, group.rows) } ->
        expected.zipWithIndex.flatMap { case (group, i) => numbered(i, group.rows(oracle)) }
    }

    for ((claim, claimed) <- Seq("" -> rule, ", not associative" -> new NotAssociative(rule))) {
      check(s"copy on write$claim") { (writes, _) =>
        afterEach(writes, claimed)(_.rewritten(_))(_.rewritten(oracle, _))
      }

      check(s"merge on read$claim") { (writes, _) =>
        afterEach(writes, claimed)(_.appended(_))(_.appended(oracle, _))
      }

      check(s"merge on read, read in key order$claim") { (writes, _) =>
        val group = writes.batches.foldLeft(new Group(writes.base, Nil, claimed))(_.appended(_))
        numbered(0, group.rowsInKeyOrder) ->
          numbered(0, writes.batches.foldLeft(Oracle.FileGroup(writes.base))(_.appended(oracle, _)).rows(oracle))
      }

      check(s"merge on read, compacted after every write$claim") { (writes, _) =>
        afterEach(writes, claimed)(_.appended(_).compacted)(_.appended(oracle, _).compacted(oracle))
      }
    }

    check("merge on read, compacted and rewritten now and then") { (writes, random) =>
      val steps = writes.batches.map(batch => batch -> random.nextInt(4)).toMap
      afterEach(writes, rule) { (group, batch) =>
        steps(batch) match {
          case 0 => group.compacted.rewritten(batch)
          case 1 => group.appended(batch).compacted
          case _ => group.appended(batch)
        }
      } { (group, batch) =>
        steps(batch) match {
          case 0 => group.compacted(oracle).rewritten(oracle, batch)
          case 1 => group.appended(oracle, batch).compacted(oracle)
          case _ => group.appended(oracle, batch)
        }
      }
    }

    check("one row per batch") { (writes, _) =>
      val single = Writes(writes.base, writes.batches.flatten.map(Seq(_)))
      afterEach(single, rule)(_.rewritten(_))(_.rewritten(oracle, _))
    }

    check("all batches in one") { (writes, _) =>
      val one = Writes(writes.base, Seq(writes.batches.flatten))
      afterEach(one, rule)(_.rewritten(_))(_.rewritten(oracle, _))
    }

    if (builtIn.batchIsFold)
      test(s"$oracle: all batches in one give the rows of the batches one after the other in a log") {
        Histories.forAllWrites(partials = false, BuiltInRules.Unavailable, count) { (writes, _) =>
          val start = new Group(writes.base, Nil, rule)
          numbered(0, start.rewritten(writes.batches.flatten).rows) -> numbered(0,
            writes.batches.foldLeft(start)(_.appended(_)).rows)
        }
      }
  }

  test("the harness drops a late row after a delete in a log and inserts it in a base file") {
    val (base, batches) = (Notation.changes("k1@10=a"), Seq("k1@12-", "k1@11=b").map(Notation.changes))
    val rule            = MergeRule.eventTime(Notation.layout)
    assert(batches.foldLeft(new Group(base, Nil, rule))(_.appended(_)).rows.isEmpty)
    assert(batches.foldLeft(new Group(base, Nil, rule))(_.rewritten(_)).rows.map(_.toString) == Seq("k1@11=b"))
    assert(batches.foldLeft(new Group(base, Nil, rule))(_.appended(_).compacted).rows.map(_.toString) == Seq("k1@11=b"))
  }

  test("the harness finds a rule that carries columns over a delete, and shows a small history") {
    val forgetful = new MergeRule {
      private val fill        = FillMissingRule.byCommitTime(Notation.layout, MissingValues.Nulls, Nil)
      override def laws: Laws = Laws(associative = true, idempotent = true, orderFree = false)
      override def merge(older: Version, newer: Version): Version = fill.combine(older, newer)
    }
    val oracle = BuiltInRules.named("IgnoreDefaults by commit time").oracle
    val thrown = intercept[AssertionError] {
      Histories.forAllWrites(partials = false) { (writes, _) =>
        numbered(0, writes.batches.foldLeft(new Group(writes.base, Nil, forgetful))(_.appended(_)).rows) ->
          numbered(0, writes.batches.foldLeft(Oracle.FileGroup(writes.base))(_.appended(oracle, _)).rows(oracle))
      }
    }
    assert(thrown.getMessage.contains(s"seed ${Histories.seed}"))
    assert("@".r.findAllIn(thrown.getMessage.linesIterator.next()).size <= 3, thrown.getMessage)
  }
}

object WritesSuite {

  private def numbered(batch: Int, rows: Seq[Change]): Seq[String] = rows.map(row => s"$batch: $row")

  /** The rule without its claim to be associative; batches are combined as they were. */
  private final class NotAssociative(inner: MergeRule) extends MergeRule {
    override def laws: Laws = inner.laws.copy(associative = false)

    override def merge(older: Version, newer: Version): Version = inner.merge(older, newer)

    override def combine(older: Version, newer: Version): Version = inner.combine(older, newer)
  }

  /** A file group in memory: a base file's rows and the versions in its logs, as an engine stores them. */
  private final class Group(base: Seq[Change], log: Seq[Version], rule: MergeRule) {
    private val fold = MergePaths.fold(rule)

    def rows: Seq[Change] = Oracle.rows(lines(buffered.merge(new StoredRows(base), baseSorted = false)))

    def rowsInKeyOrder: Seq[Change] = {
      val merge =
        SortedMerge.ofLogs(new StoredRows(inKeyOrder(base)), new Cursor(log.sortBy(v => Notation.read(v.row).key)),
          Notation.layout, fold)
      Oracle.rows(lines(merge))
    }

    def rewritten(batch: Seq[Change]): Group = {
      val versions = new Versions(inKeyOrder(batch))
      new Group(Oracle.rows(lines(SortedMerge.rewrite(new StoredRows(inKeyOrder(rows)), versions, Notation.layout,
              fold))), Nil, rule)
    }

    def appended(batch: Seq[Change]): Group = {
      val merge    = SortedMerge.forLog(new Versions(inKeyOrder(batch)), Notation.layout, fold)
      val appended = mutable.ArrayBuffer.empty[Version]
      while (merge.next()) appended ++= logged(merge.winner)
      new Group(base, log ++ appended, rule)
    }

    def compacted: Group = new Group(rows, Nil, rule)

    private def buffered: VersionBuffer = {
      val buffer = new VersionBuffer(Notation.layout, fold, Long.MaxValue)
      log.foreach(buffer.add)
      buffer
    }
  }

  /** A log has no mark for a version that ends history: a delete without ordering value stands before it. */
  private def logged(version: Version): Seq[Version] = {
    val own = version.copy()
    own.endsHistory = false
    if (!version.endsHistory || version.isUnconditional) Seq(own)
    else Seq(Notation.record(Change(Notation.read(version.row).key, None, Seq(None, None), isDelete = true,
          ordered = false)), own)
  }

  private final class Cursor(versions: Seq[Version]) extends VersionCursor {
    private val left    = versions.iterator
    var record: Version = _

    override def next(): Boolean = left.hasNext && {
      record = left.next().copy()
      true
    }
  }
}
