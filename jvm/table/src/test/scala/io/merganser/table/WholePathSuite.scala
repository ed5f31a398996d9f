package io.merganser.table

import java.nio.file.Files

import io.merganser.Extensive
import io.merganser.merge.{BuiltInRules, Histories, Oracle}
import io.merganser.table.commit.Creation
import io.merganser.table.properties.TableConfig
import io.merganser.table.service.Cleaning
import io.merganser.table.settings.{CleaningConfig, CleaningPolicy}
import io.merganser.table.storage.Storage
import io.merganser.merge.Oracle.FileGroup
import org.scalatest.BeforeAndAfterEach
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

// Guarantee (One result): Compactions, log compactions, clusterings, cleans, archivings, savepoints, repairs and
//   restores between writes change no row, under any rule. Also: test_services_between_writes_change_no_row
// Guarantee (One result): A log compaction changes no row, whatever is written, compacted or cleaned around it; Hudi
//   reads and compacts what it wrote, and Merganser Hudi's. Also: LogCompactionSuite, CompactionFaultsSuite,
//   test_compactions_of_logs_and_slices_change_no_row, test_interop_log_compaction
// Guarantee (Counts, dry runs and explanations): The explanation of a record ends with the row that readers see, under
//   every rule, and shows the decisions of the merge itself, ignored and retained deletes included. Also:
//   UserRulesSuite, KeyTraceSuite, RecordHistorySuite,
//   test_a_delete_resets_a_group_removes_the_row_or_is_ignored_as_each_group_declares,
//   test_the_page_shows_that_a_late_row_stays_deleted
// Guarantee (Change data): Where an incremental query reads only some columns or rows of a base file, or only its
//   footer, it finds what a whole read finds. Also: LoggedRowsSuite, RecentRowsSuite,
//   test_a_window_returns_the_rows_that_the_fold_changed_last_in_it
/** Random histories through files: written, appended, compacted and read without an engine, against the oracle. */
@Extensive
final class WholePathSuite extends AnyFunSuite with BeforeAndAfterEach {

  /** Six have each cleaning policy with each initial version of a table. */
  private val perKind = if (sys.env.get("MERGANSER_FULL").contains("1")) 24 else 6

  private var folder: java.nio.file.Path = _

  override protected def beforeEach(): Unit = folder = Files.createTempDirectory("merganser-histories")

  override protected def afterEach(): Unit = { org.apache.hadoop.fs.FileUtil.fullyDelete(folder.toFile); () }

  private val event  = Map("hoodie.record.merge.mode" -> "EVENT_TIME_ORDERING", "hoodie.table.ordering.fields" -> "ts")
  private val commit = Map("hoodie.record.merge.mode" -> "COMMIT_TIME_ORDERING")

  private def filling(mode: String) = Map("hoodie.table.partial.update.mode" -> mode)

  private def payload(name: String) = Map(
    "hoodie.table.version" -> "8",
    "hoodie.record.merge.mode" -> "CUSTOM",
    "hoodie.table.ordering.fields" -> "ts",
    "hoodie.record.merge.strategy.id" -> "00000000-0000-0000-0000-000000000000",
    "hoodie.compaction.payload.class" -> s"org.apache.hudi.common.model.$name"
  )

  /** What tables store, and the rule of the oracle that it stands for. */
  private val rules: Seq[(String, Map[String, String])] = Seq(
    "EventTime" -> event,
    "CommitTime" -> commit,
    "IgnoreDefaults by event time" -> (event ++ filling("IGNORE_DEFAULTS")),
    "IgnoreDefaults by commit time" -> (commit ++ filling("IGNORE_DEFAULTS")),
    "FillUnavailable by event time" -> (event ++ filling("FILL_UNAVAILABLE")),
    "FillUnavailable by commit time" -> (commit ++ filling("FILL_UNAVAILABLE")),
    "OverwriteWithLatest" -> (payload("OverwriteWithLatestAvroPayload") ++ commit),
    "EventTime payload" -> (payload("DefaultHoodieRecordPayload") ++ event),
    "OverwriteNonDefaults" -> payload("OverwriteNonDefaultsWithLatestAvroPayload"),
    "PartialUpdate" -> payload("PartialUpdateAvroPayload")
  )

  private val nestedToo = Set("EventTime", "IgnoreDefaults by event time", "PartialUpdate")

  for {
    (name, stored) <- rules
    mergeOnRead    <- Seq(false, true)
    bucketed       <- Seq(false, true)
    nested         <- if (mergeOnRead && bucketed && nestedToo(name)) Seq(false, true) else Seq(false)
    which = if (nested) "ordered by a field inside structs," else perKind.toString
  } test(
    s"$name, ${if (mergeOnRead) "merge on read" else "copy on write"}, " +
      s"${if (bucketed) "bucketed" else "by stored key"}: $which random histories match the oracle after every " +
      "write and compaction") {
    val rule    = BuiltInRules.named(name).oracle
    var cleaned = 0
    for (i <- 0 until (if (nested) perKind / 2 else perKind)) {
      val random = new Random(Histories.seed + i)
      val field  = if (nested) Map("hoodie.table.ordering.fields" -> "ts.of.at") else Map.empty
      // Readers of half of the tables know that a log file has one write, and do not open those that are replaced.
      val first = if (i % 2 == 0) Map("hoodie.table.initial.version" -> "8") else Map.empty
      val table = create(s"t$i",
        DirectTable.properties(mergeOnRead) - "hoodie.table.ordering.fields" ++ stored ++ field ++ first, bucketed,
        nested)
      var groups  = Map.empty[String, FileGroup]
      val history = Seq.newBuilder[String]
      // Two thirds of the histories are cleaned after each step, and retain next to nothing.
      val policy = Seq(None, Some(CleaningPolicy.Commits(1)), Some(CleaningPolicy.Versions(1))).apply(i % 3)
      def clean(): Unit = policy.foreach { p =>
        val how = CleaningConfig(automatic = true, p, triggerCommits = 1, isIncremental = true)
        cleaned += new Cleaning(table.storage, TableConfig.load(table.storage), how).automatic().map(_.filesDeleted).sum
      }
      for (_ <- 0 until 2 + random.nextInt(4)) {
        if (mergeOnRead && random.nextBoolean()) {
          history += "log compaction scheduled"
          table.scheduleLogCompaction()
        }
        val changes = new Histories(partials = true, BuiltInRules.Unavailable)
        val batch   = Seq.fill(1 + random.nextInt(6))(changes.change(random, keys = 6))
        history += batch.mkString(" ")
        table.upsert(batch).foreach { part =>
          val group = groups.getOrElse(part.fileId, FileGroup())
          groups += part.fileId -> (if (part.isLog) group.appended(rule, part.changes)
                                    else group.rewritten(rule, part.changes))
        }
        clean()
        compare(rule, table, groups, history.result(), i)
        if (mergeOnRead && random.nextBoolean()) {
          history += "log compaction"
          if (random.nextBoolean()) table.runLogCompactions() else table.compactLogs()
          clean()
          compare(rule, table, groups, history.result(), i)
        }
        if (mergeOnRead && random.nextInt(3) == 0) {
          history += "compaction"
          table.compact()
          groups = groups.map { case (id, group) => id -> group.compacted(rule) }
          clean()
          compare(rule, table, groups, history.result(), i)
        }
      }
      val clue = s"history $i of seed ${Histories.seed}: ${history.result().mkString(" | ")}"
      assert(table.explainedRows((0 to 6).map(n => s"k$n")).sorted == table.shownRows.sorted, clue)
      assert(table.findings.isEmpty, clue)
      val (asChanges, asRows) = table.newerThanBase
      assert(asChanges == asRows, clue)
    }
    // Histories with logs may have too few compactions.
    assert(cleaned > 0 || mergeOnRead, "no file was cleaned")
  }

  private def compare(
      rule: Oracle.Rule,
      table: DirectTable,
      groups: Map[String, FileGroup],
      history: Seq[String],
      i: Int
  ): Unit = {
    def sorted(rows: Iterable[Any]) = rows.map(_.toString).toSeq.sorted
    val clue                        = s"history $i of seed ${Histories.seed}: ${history.mkString(" | ")}"
    val expected                    = sorted(groups.values.flatMap(_.rows(rule)))
    assert(sorted(table.rows) == expected, clue)
    assert(sorted(table.scannedRows) == expected, clue)
    assert(sorted(table.readOptimizedRows) == sorted(groups.values.flatMap(_.base)), clue)
  }

  private def create(name: String, properties: Map[String, String], bucketed: Boolean, nested: Boolean): DirectTable = {
    val storage = Storage(folder.resolve(name).toUri.toString, HadoopDefaults.shared)
    Creation.create(storage, properties)
    new DirectTable(storage, bucketed, nested = nested)
  }
}
