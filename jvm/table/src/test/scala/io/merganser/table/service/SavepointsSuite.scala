package io.merganser.table.service

import io.merganser.ExtensiveTest
import io.merganser.merge.MerganserException
import io.merganser.table.{DrawnPoints, FaultyFileSystem, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.{TableView, TimeTravel}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Action

/** Savepoints retain the files of their write, whatever is done to the table. */
final class SavepointsSuite extends TableSuite with CleaningFixture {

  private def savepoints(s: Storage) = new Savepoints(s, TableConfig.load(s))

  /** A table of five writes of one group, the second one also of another group. */
  private def written(name: String, version: Int = 9): Storage = {
    val s = faulty(name)
    table(version, s)
    for (i <- 1 to 5) write(s, s"${i}00", if (i == 2) Seq("a", "b") else Seq("a"))
    if (version < 8) completeInOrder(s)
    s
  }

  /** The data files of these instants. */
  private def files(a: String*)(b: String*): Set[String] = (a.map(base("a", _)) ++ b.map(base("b", _))).toSet

  private def filesAsOf(s: Storage, instant: String): Set[String] = {
    val config = TableConfig.load(s)
    val past   = new TimeTravel(s, config, timeline(s)).to(t(instant))
    new TableView(s, config, past).slices.flatMap(_.base.map(_.name)).toSet
  }

  for (version <- Seq(6, 9)) test(s"version $version: a clean retains the files of a savepoint until it is deleted") {
    val s       = written("t", version)
    val created = savepoints(s).create(Some(t("200")), "ops", "why")
    assert(created.metadata.files == Map("p" -> Seq(base("a", "200"), base("b", "200"))))
    assert(savepoints(s).all == Seq(created))
    assert(savepoints(s).create(Some(t("200")), "others", "") == created, "there is one")
    clean(s, commits(1))
    assert(data(s) == files("200", "400", "500")("200"))
    if (version >= 8) assert(filesAsOf(s, "200") == files("200")("200"))
    assert(savepoints(s).delete(None) == t("200") && savepoints(s).all.isEmpty)
    write(s, "600", Seq("a"))
    if (version < 8) completeInOrder(s)
    clean(s, commits(1))
    assert(data(s) == files("500", "600")("200"))
  }

  test("savepoints default to the newest write or savepoint, and an unknown one is an error with the choices") {
    val s = written("t")
    assert(savepoints(s).create(None, "", "").instant == t("500"))
    assert(savepoints(s).create(Some(t("100")), "", "").instant == t("100"))
    assert(savepoints(s).all.map(_.instant) == Seq(t("500"), t("100")))
    val unknown = intercept[MerganserException](savepoints(s).create(Some(t("050")), "", ""))
    assert(unknown.condition == "SAVEPOINT_INSTANT_UNKNOWN" && unknown.getMessage.contains(t("200")))
    val none = intercept[MerganserException](savepoints(s).delete(Some(t("200"))))
    assert(none.condition == "SAVEPOINT_UNKNOWN" && none.getMessage.contains(t("100")))
    assert(savepoints(s).delete(None) == t("500") && savepoints(s).delete(None) == t("100"))
    assert(conditionOf(savepoints(s).delete(None)) == "SAVEPOINT_UNKNOWN")
    val empty = faulty("empty")
    table(storage = empty)
    assert(conditionOf(savepoints(empty).create(None, "", "")) == "SAVEPOINT_INSTANT_UNKNOWN")
  }

  test("a savepoint of a write whose files were cleaned is refused") {
    val s = written("t")
    clean(s, commits(1))
    assert(conditionOf(savepoints(s).create(Some(t("100")), "", "")) == "AS_OF_TOO_EARLY")
    assert(timeline(s).instants.forall(_.action != Action.Savepoint))
  }

  test("a savepoint lists its files again if a clean begins meanwhile") {
    val s = written("t")
    val failed = FaultyFileSystem.interrupting("list .*/p")(clean(s, commits(1))) {
      conditionOf(savepoints(s).create(Some(t("100")), "", ""))
    }
    assert(failed == "AS_OF_TOO_EARLY" && !data(s)(base("a", "100")))
  }

  test("a savepoint whose creation or deletion fails at any operation retains its files, and a retry completes it",
    ExtensiveTest) {
    for (isDelete <- Seq(false, true)) {
      def prepared(name: String) = {
        val s = written(name)
        if (isDelete) savepoints(s).create(Some(t("200")), "ops", "why")
        s
      }
      def act(s: Storage): Unit =
        if (isDelete) { savepoints(s).delete(Some(t("200"))); () }
        else { savepoints(s).create(Some(t("200")), "ops", "why"); () }
      val operations = FaultyFileSystem.operations(act(prepared(s"all-$isDelete")))
      val faults     = Seq(FaultyFileSystem.Before, FaultyFileSystem.After)
      for ((n, fault) <- DrawnPoints.of((1 to operations).flatMap(n => faults.map(n -> _)))) {
        val s            = prepared(s"$isDelete-$n-${fault == FaultyFileSystem.After}")
        val (result, at) = FaultyFileSystem.failing(n, fault)(act(s))
        val left         = timeline(s).savepoints
        if (n % 2 == 0) {
          // What is left retains its files.
          clean(s, commits(1))
          assert(left.isEmpty || data(s)(base("a", "200")), s"$fault at $at")
        } else {
          if (result.isLeft && (left.nonEmpty || !isDelete)) act(s)
          assert(savepoints(s).all.isEmpty == isDelete, s"$fault at $at")
        }
        timeline(s).savepoints.foreach(left => savepoints(s).delete(Some(left.requested)))
        assert(timeline(s).savepoints.isEmpty, s"$fault at $at")
      }
    }
  }
}
