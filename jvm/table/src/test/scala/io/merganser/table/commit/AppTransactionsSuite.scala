package io.merganser.table.commit

import io.merganser.table.TableSuite
import io.merganser.table.options.AppTransaction
import io.merganser.table.properties.TableConfig
import io.merganser.table.timeline.{CommitMetadata, OperationType, Timeline}

// Guarantee (Writes): A write that is repeated with its application and version (`txn`) changes nothing and returns the
//   first result, from frames, SQL and Python, also if both run at once, as long as the application's number is
//   retained. Also: test_a_write_repeated_with_its_transaction_returns_the_first_result_and_changes_nothing,
//   test_a_statement_repeated_with_its_transaction_returns_the_first_counts_and_changes_nothing,
//   test_a_repeated_write_without_rows_or_with_table_creation_is_recognized, AttemptsSuite
/** The newest transactions of applications, found in commits and listed by the next one. */
final class AppTransactionsSuite extends TableSuite {

  private val ours = CommitMetadata.WriterKey -> "merganser"

  private def commit(instant: Int, extra: (String, String)*): Unit =
    instantFile(storage, s"${instant}_${instant + 5}.commit",
      CommitMetadata(OperationType.Upsert, Map.empty, extra.toMap))

  private def timeline: Timeline = Timeline.load(storage, TableConfig.load(storage))

  private def list(app: String, version: Int, instant: Int) =
    AppTransactions.Key -> s"""{"$app":{"version":$version,"instant":"$instant"}}"""

  test("a version and earlier ones are found with the newest instant, also below commits without a list") {
    table()
    commit(100, ours, list("a", 3, 100))
    commit(200, ours, list("b", 1, 200))
    commit(300)
    def found(app: String, version: Long) = AppTransactions.find(timeline, AppTransaction(app, version))
    assert(found("a", 3).contains(AppTransactions.Committed(3, "100")) && found("a", 1) == found("a", 3))
    assert(found("a", 4).isEmpty && found("c", 0).isEmpty && found("b", 1).map(_.instant).contains("200"))
  }

  test("the transaction of a rolled back commit is not listed again, but its predecessor is") {
    table()
    commit(100, ours, list("a", 3, 100))
    // It ran beside 300, which is gone.
    commit(200, ours, list("a", 4, 300))
    assert(AppTransactions.extend(timeline, None, "900").get(AppTransactions.Key).contains(
        """{"a":{"version":3,"instant":"100"}}"""))
    commit(250, ours, list("b", 1, 300))
    assert(AppTransactions.extend(timeline, None, "900").isEmpty)
  }

  test("a commit lists its own transaction and those of our newest commit, reading no older one") {
    val config = table()
    storage.createNew(s"${config.timelineFolder}/100_105.commit", "no commit".getBytes)
    def next(own: Option[AppTransaction]) = AppTransactions.extend(timeline, own, "900").get(AppTransactions.Key)
    commit(200, ours)
    commit(300)
    assert(next(None).isEmpty)
    assert(next(Some(AppTransaction("a", 1))).contains("""{"a":{"version":1,"instant":"900"}}"""))
    commit(400, ours, list("a", 1, 400))
    commit(500)
    assert(next(None).contains("""{"a":{"version":1,"instant":"400"}}"""))
    assert(next(Some(AppTransaction("b", 2))).contains(
        """{"a":{"version":1,"instant":"400"},"b":{"version":2,"instant":"900"}}"""))
  }

  test("an application idle for the configured hours is no longer listed") {
    table()
    val (first, second) = ("20240101000000000", "20240102000000000")
    for ((instant, app) <- Seq(first -> "a", second -> "b"))
      instantFile(storage, s"${instant}_$instant.commit",
        CommitMetadata(OperationType.Upsert, Map.empty,
          AppTransactions.extend(timeline, Some(AppTransaction(app, 1)), instant) + ours))
    def next(instant: String, hours: Long, own: Option[AppTransaction] = None) =
      AppTransactions.extend(timeline, own, instant, hours = hours).get(AppTransactions.Key)
    val both = s"""{"a":{"version":1,"instant":"$first"},"b":{"version":1,"instant":"$second"}}"""
    assert(next("20240103000000000", hours = 48).contains(both))
    assert(next("20290101000000000", hours = 0).contains(both))
    assert(next("20240103000000001", hours = 48).contains(s"""{"b":{"version":1,"instant":"$second"}}"""))
    assert(next("20240103000000001", hours = 48, Some(AppTransaction("a", 2))).contains(
        s"""{"b":{"version":1,"instant":"$second"},"a":{"version":2,"instant":"20240103000000001"}}"""))
    assert(next("20250101000000000", hours = 48).isEmpty)
  }
}
