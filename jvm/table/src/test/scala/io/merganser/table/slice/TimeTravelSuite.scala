package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.TableSuite
import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.{CleanFixture, CommitMetadata, OperationType, Timeline}

// Guarantee (Reads): A query as of a time gives the rows of that time, archived instants of Hudi included, or an error
//   that names the oldest time that can be read, or the restore or rollback that took it back. Also: RestoreSuite,
//   test_each_form_of_a_time_reads_the_rows_of_that_time_in_each_kind_of_read,
//   test_time_travel_before_hudis_clean_is_an_error_and_later_instants_read_the_same,
//   test_time_travel_and_history_find_instants_that_hudi_archived
final class TimeTravelSuite extends TableSuite {

  private def travel(s: Storage, instant: String): Timeline = {
    val config = TableConfig.load(s)
    new TimeTravel(s, config, Timeline.load(s, config)).to(instant)
  }

  private def assertError(body: => Any, condition: String, parameters: (String, String)*): Unit = {
    val error = intercept[MerganserException](body)
    assert(error.condition == condition)
    assert(parameters.forall { case (name, value) => error.parameters.get(name).contains(value) }, error.parameters)
    ()
  }

  private def assertOldest(s: Storage, oldest: String, before: String): Unit = {
    assertError(travel(s, before), "AS_OF_TOO_EARLY", "oldest" -> oldest, "instant" -> before)
    assert(travel(s, oldest).completed.nonEmpty)
    ()
  }

  private def commits(s: Storage, instants: String*): Unit = instants.foreach(i => instantFile(s, s"${i}_${i}5.commit"))

  test("time travel before the first commit or in an empty table is an error, and after it is not") {
    val s = storage
    table(storage = s)
    assertError(travel(s, "150"), "AS_OF_TOO_EARLY", "oldest" -> "none")
    commits(s, "200", "300")
    assertOldest(s, "200", before = "199")
    assert(travel(s, "250").completed.map(_.requested) == Seq("200"))
    assert(travel(s, "999").completed.size == 2)
  }

  test("time travel before the oldest commit that any clean retained is an error, also for a pending clean") {
    val s = storage
    table(storage = s)
    commits(s, "100", "200", "300", "400")
    s.createNew(".hoodie/timeline/410_411.clean", CleanFixture.completed(Some("300")))
    s.createNew(".hoodie/timeline/420_421.clean", CleanFixture.completed(Some("200")))
    assertOldest(s, "300", before = "250")
    s.createNew(".hoodie/timeline/430.clean.requested", CleanFixture.planned(Some("400")))
    assertOldest(s, "400", before = "300")
  }

  test("a clean that deleted nothing makes no time unreadable") {
    val s = storage
    table(storage = s)
    commits(s, "100", "200", "300")
    s.createNew(".hoodie/timeline/410_411.clean", CleanFixture.completed(Some("300"), Map.empty))
    s.createNew(".hoodie/timeline/420_421.clean", CleanFixture.completed(Some("300"), Map("p" -> Nil)))
    assert(travel(s, "150").completed.map(_.requested) == Seq("100"))
  }

  test("a saved instant stays readable and its neighbours do not, and it does not start an unarchived timeline") {
    val s = storage
    table(storage = s)
    commits(s, "100", "200", "300", "400")
    instantFile(s, "200_250.savepoint")
    s.createNew(".hoodie/timeline/410_411.clean", CleanFixture.completed(Some("300")))
    assert(travel(s, "200").completed.map(_.requested) == Seq("100", "200"))
    assertOldest(s, "300", before = "250")
  }

  test(
    "a clean by file versions leaves times readable from the oldest slices of its groups, or their replacement, on") {
    val s = storage
    table(storage = s)
    commits(s, "100", "200", "300")
    instantFile(s, "400_450.replacecommit",
      CommitMetadata(OperationType.InsertOverwrite, Map.empty, Map.empty, Map("q" -> Seq("c"))))
    base(s, "a", "100")
    base(s, "b", "300")
    val deleted = Map("p" -> Seq("b_0-0-0_100.parquet", "b_0-0-0_200.parquet"))
    s.createNew(".hoodie/timeline/310_311.clean", CleanFixture.completed(None, deleted))
    assertOldest(s, "300", before = "200")
    s.createNew(".hoodie/timeline/460_461.clean", CleanFixture.completed(None, Map("q" -> Seq("c_0-0-0_100.parquet"))))
    assertOldest(s, "400", before = "300")
    s.createNew(".hoodie/timeline/470.clean.requested",
      CleanFixture.planned(None, Map("p" -> Seq("a_0-0-0_100.parquet"))))
    assertOldest(s, "400", before = "300")
  }

  test("a clean by file versions makes times unreadable at which the remaining slice's write was running") {
    val s = storage
    table(storage = s)
    instantFile(s, "100_150.commit")
    instantFile(s, "200_500.commit") // rewrites b, and completes after the next one
    instantFile(s, "300_400.commit")
    base(s, "a", "300")
    base(s, "b", "200")
    def toCompletion(time: String): Timeline = {
      val config = TableConfig.load(s)
      new TimeTravel(s, config, Timeline.load(s, config)).toCompletion(time)
    }
    assert(toCompletion("450").completed.map(_.requested) == Seq("100", "300"))
    s.createNew(".hoodie/timeline/510_511.clean",
      CleanFixture.completed(None, Map("p" -> Seq("b_0-0-0_100.parquet"))))
    assertError(toCompletion("450"), "AS_OF_TOO_EARLY", "oldest" -> "500")
    val error = intercept[MerganserException](toCompletion("250"))
    assert(error.getMessage.contains("hoodie.clean.fileversions.retained"))
    assert(toCompletion("500").completed.size == 3)
  }

  private def base(s: Storage, fileId: String, instant: String): Unit =
    s.createNew(s"p/${FileNames.base(fileId, "0-0-0", instant)}", Array[Byte](1))
}
