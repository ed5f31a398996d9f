package io.merganser.merge

import io.merganser.merge.TestMergers.{append, eventTime, eventTimePartial, Merge}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.Assertion

import scala.collection.JavaConverters._

// Guarantee (Merge rules): A custom class that states that it is associative is combined early and gives the left fold;
//   one that states it wrongly is refused before it writes. Also: UserMergersSuite
class CustomRuleSuite extends MergeSuite {

  override val rule: MergeRule = TestMergers.rule(append)

  private val newerWins: Merge = (_, newer, _) => newer

  private def outcomes(
      full: Merge,
      base: String,
      versions: String,
      partial: Option[Merge] = None
  )(expected: String*): Assertion = {
    for ((path, merge) <- MergePaths.all) {
      val lines =
        MergePaths.lines(merge(Notation.changes(base), Notation.changes(versions), TestMergers.rule(full, partial)))
      assert(lines.sorted == expected.sorted, s"($path)")
    }
    succeed
  }

  private def failure(full: Merge, partial: Option[Merge] = None, versions: String = "k1@2=b,_"): MerganserException =
    intercept[MerganserException](
      MergePaths.lines(MergePaths.keyed(Notation.changes("k1@1=a,x"), Notation.changes(versions),
          TestMergers.rule(full, partial))))

  // --- the fold

  test("the versions of a key are folded from left to right, the stored row first") {
    assertOutcomes(base = "k1@1=a", versions = "k1@2=b k1@1=c k1@3=d", "Updated k1@3=abcd")
    assertOutcomes(base = "", versions = "k1@2=b k1@1=c", "Inserted k1@1=bc")
  }

  test("a key with one version is not passed to the merger") {
    outcomes((_, _, _) => throw new IllegalStateException("asked"), base = "k1@1=a", versions = "k2@1=b")(
      "Unchanged k1@1=a",
      "Inserted k2@1=b")
  }

  test("the older record returned as it is keeps the stored row, and a copy of it is a change") {
    outcomes((older, _, _) => older, base = "k1@1=a", versions = "k1@2=b k1@3=c")("Kept k1@1=a")
    outcomes((older, _, context) => context.copy(older), base = "k1@1=a", versions = "k1@2=b")("Updated k1@1=a")
  }

  test("a custom event-time merger gives the rows of event time for any history") {
    for ((_, merge) <- MergePaths.all)
      Histories.forAll(partials = true) { (h, _) =>
        MergePaths.lines(merge(h.base, h.versions, TestMergers.rule(eventTime, Some(eventTimePartial)))) ->
          Oracle.merge(Oracle.EventTime, h.base, h.versions)
      }
  }

  test("a merger that depends on grouping gives the left fold of any history") {
    for ((_, merge) <- MergePaths.all)
      Histories.forAll(partials = false) { (h, _) =>
        MergePaths.lines(merge(h.base, h.versions, rule)) -> CustomRuleSuite.appended(h)
      }
  }

  test("a merger that states that it is associative gives the left fold, and one version of a key is buffered") {
    val stated = TestMergers.rule(append, isAssociative = true)
    for ((_, merge) <- MergePaths.all)
      Histories.forAll(partials = false) { (h, _) =>
        MergePaths.lines(merge(h.base, h.versions, stated)) -> CustomRuleSuite.appended(h)
      }
    def buffered(rule: MergeRule) =
      MergePaths.buffer(Notation.changes("k1@1=a k1@2=b k1@3=c"), rule).get(UTF8String.fromString("k1"))
    assert(buffered(stated).earlier == null && Notation.read(buffered(stated)).toString == "k1@3=abc")
    assert(buffered(rule).earlier != null)
  }

  test("an associative merger that refuses deletes gives the rows of the left fold") {
    val refusing: Merge = (older, newer, context) => if (newer.isDelete) older else append(older, newer, context)
    for ((_, merge) <- MergePaths.all)
      Histories.forAll(partials = false) { (h, _) =>
        MergePaths.lines(merge(h.base, h.versions, TestMergers.rule(refusing, isAssociative = true))) ->
          MergePaths.lines(merge(h.base, h.versions, TestMergers.rule(refusing)))
      }
  }

  // --- deletes

  test("a delete has a key and an ordering value, and neither data nor columns") {
    var seen = Seq.empty[Any]
    outcomes(
      (older, newer, context) => {
        seen = Seq(newer.isDelete, newer.getOperation, newer.getRecordKey, newer.getOrderingValue, newer.getRecord,
          newer.isCommitTimeOrderingDelete,
          newer.getSchemaId, context.getSchema(newer).length, context.isProvided(newer, "v"), older.isDelete)
        newer
      },
      base = "k1@1=a",
      versions = "k1@2-"
    )("Deleted k1")
    assert(seen == Seq[Any](true, RecordOperation.DELETE, "k1", 2L, null, false, -1, 0, false, false))
  }

  test("the merger may refuse a delete") {
    outcomes((older, _, _) => older, base = "k1@1=a", versions = "k1-")("Kept k1@1=a")
  }

  test("after a delete without ordering value the merger is not called, and nothing from before comes back") {
    val refusing: Merge = (older, newer, _) => if (older.isDelete) throw new IllegalStateException("asked") else newer
    outcomes(refusing, base = "k1@5=a,b", versions = "k1- k1@1=c")("Updated k1@1=c")
    assertOutcomes(base = "k1@5=a,b", versions = "k1- k1@1=c k1@2=d", "Updated k1@2=cd")
  }

  test("after a delete with an ordering value the merger decides whether the key comes back, without its old columns") {
    outcomes(eventTime, base = "k1@5=a,b", versions = "k1@7- k1@6=c")("Deleted k1")
    outcomes(eventTime, base = "k1@5=a,b", versions = "k1@7- k1@8=c")("Updated k1@8=c")
    assertOutcomes(base = "k1@5=a,b", versions = "k1@7- k1@8=c k1@9=d", "Updated k1@9=cd")
  }

  test("a row that won over a delete still ends history after later merges") {
    val revived = fold.merge(Notation.record("k1@3-"), Notation.record("k1@4=a"))
    assert(revived.endsHistory)
    val merged = fold.merge(revived, Notation.record("k1@5=b"))
    assert(merged.endsHistory)
    assert(fold.merge(Notation.record("k1@1=x"), merged) eq merged, "an ended history is not asked about")
    assert(!fold.merge(Notation.record("k1@4=a"), Notation.record("k1@5=b")).endsHistory)
  }

  test("a delete that the merger creates has the ordering value of its argument, or none") {
    val ordered: Merge = (_, newer, context) => if (newer.isDelete) newer else context.createDelete(newer)
    val unconditional: Merge =
      (_, newer, context) => if (newer.isDelete) newer else context.createCommitTimeOrderingDelete(newer)
    val (a, b) = (Notation.record("k1@1=a"), Notation.record("k1@2=b"))
    assert(Notation.read(MergePaths.fold(TestMergers.rule(ordered)).merge(a, b)).toString == "k1@2-")
    assert(Notation.read(MergePaths.fold(TestMergers.rule(unconditional)).merge(a, b)).toString == "k1-")
    outcomes(ordered, base = "k1@1=a", versions = "k1@2=b")("Deleted k1")
  }

  // --- what a record shows

  test("a merger reads values, columns, key, ordering value and operation of a row") {
    var seen = Seq.empty[Any]
    outcomes(
      (older, newer, context) => {
        seen = Seq(context.getValue(older, "v"), context.getValue(older, "w"), context.getValue(newer, "ts"),
          newer.getOrderingValue,
          context.getOrderingValue(older), context.getRecordKey(older), older.getOperation, older.getSchemaId,
          context.isProvided(older, "w"),
          context.getSchema(older).fieldNames.mkString(","), older.getRecord.getUTF8String(2).toString,
          context.compareOrdering(older, newer))
        older
      },
      base = "k1@1=a",
      versions = "k1@null=b"
    )("Kept k1@1=a")
    assert(seen == Seq[Any]("a", null, null, null, 1L, "k1", RecordOperation.INSERT, 0, true, "k,ts,v,w", "a", 1))
  }

  test("reading an unknown or not provided column is an error") {
    val unknown = failure((_, newer, context) => { context.getValue(newer, "price"); newer }, versions = "k1@2=b")
    assert(unknown.getCause.getMessage == "there is no column 'price'; columns are k, ts, v, w")
    val open = failure(newerWins, partial = Some((_, newer, context) => { context.getValue(newer, "w"); newer }))
    assert(open.getCause.getMessage == "column 'w' is not provided: this version provides k, ts, v")
  }

  test("a value that does not fit its column is refused by name") {
    val unfit = failure((_, newer, context) => context.mergeWithEngineRecord(newer, Map("ts" -> "soon").asJava),
      versions = "k1@2=b")
    assert(unfit.getCause.getMessage == "value 'soon' of java.lang.String does not fit column 'ts' of type bigint")
  }

  test("a record built from values provides the columns that are named, null where the value is null") {
    val built: Merge = (_, newer, context) =>
      context.constructEngineRecord(newer,
        Map("k" -> "k1", "ts" -> java.lang.Long.valueOf(9), "v" -> "n", "w" -> null).asJava)
    outcomes(built, base = "k1@1=a,b", versions = "k1@2=c")("Updated k1@9=n")
  }

  // --- partial versions

  test("where one side is partial, partialMerge is called, and its result has the columns of both") {
    outcomes(newerWins, base = "k1@1=a,b", versions = "k1@2=c,_ k1@3=_,d", partial = Some(eventTimePartial))(
      "Updated k1@3=c,d")
    outcomes(newerWins, base = "k1@1=a,b", versions = "k1@2=null,_", partial = Some(eventTimePartial))(
      "Updated k1@2=null,b")
  }

  test("a partial result is refused if it lacks a column of either version or adds one") {
    val lacking = failure(newerWins, partial = Some((_, newer, _) => newer))
    assert(
      lacking.getMessage.contains("its result provides the columns k, ts, v; the two versions provide k, ts, v, w"))
    val (partial, other) = (Notation.record("k1@1=a,_"), Notation.record("k1@2=_,_"))
    val adding: Merge =
      (older, newer, context) =>
        context.mergeWithEngineRecord(older, Map("w" -> "x", "ts" -> newer.getOrderingValue).asJava)
    val added =
      intercept[MerganserException](MergePaths.fold(TestMergers.rule(newerWins, Some(adding))).merge(partial, other))
    assert(added.getMessage.contains("its result provides the columns k, ts, v, w; the two versions provide k, ts, v."))
  }

  test("a full result that lacks a column is refused") {
    val lacking =
      failure((_, newer, context) => context.constructEngineRecord(newer, Map("v" -> "x").asJava), versions = "k1@2=b")
    assert(lacking.getMessage.contains("its result provides the columns k, v; the two versions provide k, ts, v, w"))
  }

  test("a column that neither partial version provides stays not provided") {
    val overlay: Merge = (older, newer, context) =>
      context.mergeWithEngineRecord(older,
        context.getSchema(newer).fieldNames.map(c => c -> context.getValue(newer, c)).toMap.asJava)
    val merged = MergePaths.fold(TestMergers.rule(newerWins, Some(overlay))).merge(Notation.record("k1@1=_,_"),
      Notation.record("k1@2=_,_"))
    assert(Notation.read(merged).toString == "k1@2=_,_")
  }

  test("schema ids differ between versions with different provided columns") {
    var ids = Seq.empty[Int]
    val noting: Merge = (older, newer, context) => {
      ids ++= Seq(older.getSchemaId, newer.getSchemaId)
      assert(context.getSchema(newer.getSchemaId) == context.getSchema(newer))
      eventTimePartial(older, newer, context)
    }
    outcomes(newerWins, base = "k1@1=a,b", versions = "k1@2=c,_ k1@3=_,d k1@4=e,_", partial = Some(noting))(
      "Updated k1@4=e,d")
    assert(ids.take(6) == Seq(0, 1, 0, 2, 0, 1))
  }

  test("a merger without partialMerge fails at a partial version, with an error that names the method") {
    val error = failure(newerWins)
    assert(error.condition == "MERGER_FAILED")
    assert(error.getCause.getMessage.contains("does not override partialMerge"))
  }

  test("a partial version after a delete has no row to overlay, and the delete stays") {
    outcomes(newerWins, base = "k1@1=a,b", versions = "k1@2- k1@3=c,_", partial = Some(eventTimePartial))("Deleted k1")
  }

  // --- failures

  test("an exception names key, versions, class and file group, and keeps its cause") {
    val error = failure((_, _, _) => throw new IllegalArgumentException("no such state"), versions = "k1@2=b")
    assert(error.condition == "MERGER_FAILED")
    assert(error.parameters("key") == "k1")
    assert(error.parameters("fileGroup") == "p0/group")
    assert(error.parameters("merger") == "the.test.Merger")
    assert(error.parameters("older") == "{k=k1, ts=1, v=a, w=x}")
    assert(error.parameters("newer") == "{k=k1, ts=2, v=b, w=null}")
    assert(error.getCause.getMessage == "no such state")
  }

  test("a method missing in another release of a jar is an error that names the cause") {
    val error = failure((_, _, _) => throw new NoSuchMethodError("Utils.bytes"), versions = "k1@2=b")
    assert(error.condition == "MERGER_FAILED" && error.getMessage.contains("Utils.bytes"))
    assert(error.getMessage.contains("of another release than the one it was compiled against; use that one"))
  }

  test("a null result is an error that explains how to delete") {
    val error = failure((_, _, _) => null, versions = "k1@2=b")
    assert(
      error.getMessage.contains("it returned null; a deletion is a record too: RecordContext.createDelete makes one"))
  }

  test("an error truncates a long version") {
    val long  = "x" * 3000
    val error = failure((_, _, _) => null, versions = s"k1@2=$long")
    assert(error.parameters("newer").length < 400)
  }

  test("comparing a delete without ordering value is an error") {
    val error = failure((older, newer, context) => { context.compareOrdering(older, newer); newer }, versions = "k1-")
    assert(error.getCause.getMessage == "the delete of 'k1' has no ordering value to compare")
  }
}

object CustomRuleSuite {

  /** The expected result of `append`, from its description: group by key, fold in commit order. */
  private def appended(h: History): Seq[String] = {
    val byKey = h.versions.groupBy(_.key)
    def step(current: Option[Change], change: Change): Option[Change] = (current, change) match {
      case (_, change) if change.isDelete => None
      case (None, change)                 => Some(change)
      case (Some(older), newer) =>
        Some(newer.copy(values = Seq(Some(older.values.head.getOrElse("null") + newer.values.head.getOrElse("null")),
            newer.values(1))))
    }
    val stored = h.base.zipWithIndex.map { case (row, i) =>
      val isAgain = h.base.indexWhere(_.key == row.key) < i
      byKey.get(row.key) match {
        case None => s"Unchanged $row"
        case Some(versions) if isAgain && versions.exists(v => v.isDelete && !v.ordered) =>
          s"Deleted ${row.key}" // what follows is one row
        case Some(versions) =>
          versions.foldLeft(Option(row))(step).fold(s"Deleted ${row.key}")(change => s"Updated $change")
      }
    }
    val fresh = (byKey -- h.base.map(_.key)).toSeq.map { case (key, versions) =>
      versions.foldLeft(Option.empty[Change])(step).fold(s"Absent $key")(change => s"Inserted $change")
    }
    stored ++ fresh
  }
}
