package io.merganser.spark.prune

import java.sql.Timestamp
import java.time.Instant

import io.merganser.spark.write.key.PartitionTime
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.NewTable
import io.merganser.table.slice.FileSlice
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

// Guarantee (Reads): Filters prune partitions, and statistics files, also of time-based, renamed and retyped columns;
//   no matching row is dropped. Also: FolderPruningSuite, test_no_filter_changes_the_version_of_a_row_that_is_read,
//   test_a_merge_by_a_renamed_or_retyped_column_prunes_files_by_their_statistics
class PartitionPruningSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, ms BIGINT, at TIMESTAMP, day DATE, text STRING, region STRING")

  private def pruning(field: String, more: (String, String)*): PartitionPruning = {
    val options =
      Map("hoodie.datasource.write.recordkey.field" -> "id", "hoodie.datasource.write.partitionpath.field" -> field)
    val timed = more.map { case (key, value) => s"hoodie.keygen.timebased.$key" -> value }
    val kind  = Map("hoodie.datasource.write.keygenerator.type" -> (if (field.contains(":")) "CUSTOM" else "TIMESTAMP"))
    PartitionPruning(TableConfig(NewTable.properties(options ++ kind ++ timed, schema, "t")), schema)
  }

  private def scan(pruning: PartitionPruning, paths: Seq[String], filters: Filter*): Seq[String] =
    pruning.prune(paths.map(path => FileSlice(path, "f", "1", None, Nil)), filters).map(_.partitionPath)

  private val days    = Seq("2024/01/01", "2024/01/02", "2024/01/03")
  private val byDay   = pruning("ms", "timestamp.type" -> "EPOCHMILLISECONDS", "output.dateformat" -> "yyyy/MM/dd")
  private val noonMs  = Instant.parse("2024-01-02T12:00:00Z").toEpochMilli
  private val startMs = Instant.parse("2024-01-02T00:00:00Z").toEpochMilli

  test("filters on milliseconds prune paths of other days") {
    assert(scan(byDay, days, EqualTo("ms", noonMs)) == Seq("2024/01/02"))
    assert(scan(byDay, days, In("ms", Array[Any](noonMs, null))) == Seq("2024/01/02"))
    assert(scan(byDay, days, GreaterThan("ms", noonMs)) == Seq("2024/01/02", "2024/01/03"))
    assert(scan(byDay, days, LessThan("ms", startMs)) == Seq("2024/01/01", "2024/01/02"),
      "the bound itself is not compared")
    assert(scan(byDay, days, LessThan("ms", startMs - 1)) == Seq("2024/01/01"))
    assert(scan(byDay, days, GreaterThanOrEqual("ms", startMs), LessThanOrEqual("ms", noonMs)) == Seq("2024/01/02"))
    assert(scan(byDay, days, EqualNullSafe("ms", noonMs)) == Seq("2024/01/02"))
  }

  test("null and inequality filters prune no path") {
    for (filter <- Seq[Filter](IsNull("ms"), EqualNullSafe("ms", null), Not(EqualTo("ms", noonMs)), EqualTo("id", 1)))
      assert(scan(byDay, "1970/01/01" +: days, filter) == "1970/01/01" +: days, filter)
  }

  test("a date with slashes in its path is pruned like one with dashes; other strings only by equality") {
    val options = Map("hoodie.datasource.write.recordkey.field" -> "id",
      "hoodie.datasource.write.slash.separated.date.partitioning" -> "true")
    for (column <- Seq("text", "day")) {
      val slashed = PartitionPruning(TableConfig(NewTable.properties(
            options + ("hoodie.datasource.write.partitionpath.field" -> column), schema, "t")), schema)
      def value(text: String): Any = if (column == "day") java.sql.Date.valueOf(text) else text
      assert(scan(slashed, days, EqualTo(column, value("2024-01-02"))) == Seq("2024/01/02"))
      assert(scan(slashed, days, GreaterThan(column, value("2024-01-02"))) == Seq("2024/01/03"))
      assert(scan(slashed, days, LessThanOrEqual(column, value("2024-01-02"))) == Seq("2024/01/01", "2024/01/02"))
      assert(scan(slashed, days, In(column, Array(value("2024-01-01"), value("2024-01-03")))) ==
        Seq("2024/01/01", "2024/01/03"))
      if (column == "text") {
        assert(scan(slashed, days, EqualTo(column, "2024/01-02")) == Seq("2024/01/02"))
        val others = Seq("north/west", "__HIVE_DEFAULT_PARTITION__")
        assert(scan(slashed, others, EqualTo(column, "north-west")) == others)
        assert(scan(slashed, others, EqualTo(column, "south")) == others.drop(1))
        assert(scan(slashed, others, GreaterThan(column, "z")) == others)
      }
    }
  }

  test("a path that is not in the format is not pruned") {
    val strange = Seq("2024", "2024/01/xx", "2024/01/02/03", "__HIVE_DEFAULT_PARTITION__")
    assert(scan(byDay, strange, EqualTo("ms", noonMs)) == strange)
  }

  test("timestamps and dates are compared in the zone of the path") {
    val berlin = Seq("timestamp.type" -> "EPOCHMICROSECONDS", "output.dateformat" -> "yyyy-MM-dd HH",
      "output.timezone" -> "Europe/Berlin")
    val hours               = Seq("2024-10-27 01", "2024-10-27 02", "2024-10-27 03")
    def at(instant: String) = EqualTo("at", Timestamp.from(Instant.parse(instant)))
    // The hour from two to three comes twice that night.
    assert(scan(pruning("at", berlin: _*), hours, at("2024-10-27T00:30:00Z")) == Seq("2024-10-27 02"))
    assert(scan(pruning("at", berlin: _*), hours, at("2024-10-27T01:30:00Z")) == Seq("2024-10-27 02"))
    assert(scan(pruning("at", berlin: _*), hours, at("2024-10-27T02:00:00Z")) == Seq("2024-10-27 03"))
    val byMonth = pruning("day", "timestamp.type" -> "EPOCHMILLISECONDS", "output.dateformat" -> "yyyyMM")
    assert(scan(byMonth, Seq("202401", "202402"), EqualTo("day", java.sql.Date.valueOf("2024-02-29"))) == Seq("202402"))
  }

  test("a time-based column of strings is pruned by equality only") {
    val byText = pruning("text", "timestamp.type" -> "DATE_STRING", "input.dateformat" -> "dd.MM.yyyy",
      "output.dateformat" -> "yyyy/MM/dd")
    assert(scan(byText, days, EqualTo("text", "02.01.2024")) == Seq("2024/01/02"))
    assert(scan(byText, days, EqualTo("text", "no date")) == days)
    assert(scan(byText, days, GreaterThan("text", "02.01.2024")) == days)
  }

  test("a path with a plain level and a time-based one is pruned by both columns") {
    val both = pruning("region:SIMPLE,ms:TIMESTAMP", "timestamp.type" -> "EPOCHMILLISECONDS",
      "output.dateformat" -> "yyyy/MM/dd")
    val paths = Seq("east/2024/01/02", "west/2024/01/02", "east/2024/01/03")
    assert(scan(both, paths, EqualTo("region", "east")) == Seq("east/2024/01/02", "east/2024/01/03"))
    assert(scan(both, paths, EqualTo("region", "east"), EqualTo("ms", noonMs)) == Seq("east/2024/01/02"))
    assert(both.columns == Seq("region", "ms"))
  }

  test("a format without ordered paths is not pruned by comparisons") {
    for (format <- Seq("MM/dd", "dd", "yy/MM/dd", "EEE")) {
      val paths = Seq("01", "01/02", "24/01/02", "Mon")
      val by    = pruning("ms", "timestamp.type" -> "EPOCHMILLISECONDS", "output.dateformat" -> format)
      assert(scan(by, paths, GreaterThan("ms", noonMs)) == paths, format)
    }
  }

  test("the range of a path contains every time that is formatted to it") {
    val formats =
      Seq("yyyy", "yyyyMM", "yyyy-MMM-dd", "yyyy/DDD", "yyyy/MM/dd/HH", "yyyyMMddHHmm", "yyyy-MM-dd'T'HH:mm:ss")
    val random = new scala.util.Random(7)
    for (format <- formats; zone <- Seq("UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"); _ <- 1 to 200) {
      val time         = new PartitionTime("ms", "EPOCHMILLISECONDS", "SECONDS", Nil, "UTC", format, zone)
      val millis       = -1000000000000L + random.nextInt(1000000000).toLong * 4000L + random.nextInt(4000)
      val (start, end) = time.rangeOf(time.ofMillis(millis).toString).getOrElse(fail(format))
      assert(start <= millis && millis < end, s"$format $zone $millis")
    }
  }
}
