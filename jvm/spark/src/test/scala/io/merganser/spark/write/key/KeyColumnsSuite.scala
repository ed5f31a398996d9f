package io.merganser.spark.write.key

import java.sql.Timestamp
import java.time.{Instant, LocalDate, LocalDateTime}

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.{Column, Row, SparkSession}
import org.apache.spark.sql.types._
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

// Guarantee (Writes): A partition value is read as it was written; a row whose key or path other values have too is
//   refused, unless a setting allows it ([decision
//   156](design/layout-and-trust.md#156-ambiguous-keys-and-paths-are-refused)). Also:
//   test_rows_with_an_ambiguous_key_are_refused_unless_allowed,
//   test_an_ambiguous_partition_path_is_refused_and_an_unambiguous_slash_accepted
class KeyColumnsSuite extends AnyFunSuite with BeforeAndAfterAll {

  private var spark: SparkSession = _

  override def beforeAll(): Unit = {
    spark = SparkSession.builder().master("local[1]").appName("keys").config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC").config(
        "spark.sql.datetime.java8API.enabled",
        "true").getOrCreate()
  }

  override def afterAll(): Unit = spark.stop()

  private val schema = StructType.fromDDL(
    "id INT, s STRING, big BIGINT, sm SMALLINT, f FLOAT, d DOUBLE, b BOOLEAN, day DATE, " +
      "dec DECIMAL(20,8), ts TIMESTAMP, ntz TIMESTAMP_NTZ, inner STRUCT<a: STRING>"
  )

  private val row: Seq[Any] = Seq(3, "x", 7L, 4.toShort, 1.5f, 1.0e10, true, LocalDate.of(2024, 1, 2),
    new java.math.BigDecimal("0.00000000"),
    Instant.parse("2024-01-02T03:04:05.678901Z"), LocalDateTime.parse("2024-01-02T03:04:05.678901"), Row("in"))

  private def table(keys: String): TableConfig = table(keys, "")

  private def table(keys: String, partitions: String, more: (String, String)*): TableConfig = TableConfig(
    NewTable.properties(
      Map("hoodie.datasource.write.recordkey.field" -> keys,
        "hoodie.datasource.write.partitionpath.field" -> partitions) ++ more,
      schema, "t"))

  private def texts(config: TableConfig, values: (String, Any)*): (String, String) = {
    val cells = schema.fieldNames.zip(row).map { case (name, cell) => values.toMap.getOrElse(name, cell) }
    val input = Seq(Row(cells.toSeq: _*))
    // A local relation is evaluated by the optimizer, rows of an RDD by generated code.
    val both =
      Seq(spark.createDataFrame(input.asJava, schema),
        spark.createDataFrame(spark.sparkContext.parallelize(input, 1), schema)).map {
        rows =>
          val out = rows.select(KeyColumns.recordKey(config, schema), KeyColumns.partitionPath(config, schema)).head()
          (out.getString(0), out.getString(1))
      }
    assert(both(0) == both(1))
    both.head
  }

  private def key(config: TableConfig, values: (String, Any)*): String  = texts(config, values: _*)._1
  private def path(config: TableConfig, values: (String, Any)*): String = texts(config, values: _*)._2

  test("a single key is its value as a string") {
    val expected = Seq("id" -> "3", "s" -> "x", "big" -> "7", "sm" -> "4", "f" -> "1.5", "d" -> "1.0E10", "b" -> "true",
      "day" -> "2024-01-02",
      "dec" -> "0.00000000", "ts" -> "1704164645678901", "ntz" -> "1704164645678901", "inner.a" -> "in")
    for ((field, text) <- expected) assert(key(table(field)) == text, field)
    assert(key(table("d"), "d" -> 1.0e-5) == "1.0E-5")
    assert(key(table("dec"), "dec" -> new java.math.BigDecimal("12.30000000")) == "12.30000000")
    assert(key(table("ts"), "ts" -> Instant.parse("1969-12-31T23:59:59.999999Z")) == "-1")
  }

  test("a composite key has names in the table's order and placeholders for null and empty") {
    assert(key(table("id,s")) == "id:3,s:x")
    assert(key(table("s,id"), "s" -> null) == "s:__null__,id:3")
    assert(key(table("s,id"), "s" -> "") == "s:__empty__,id:3")
    assert(key(table("id,s"), "s" -> "a,b:c") == "id:3,s:a,b:c")
  }

  test("a complex generator names a single key column, except on older tables with that setting") {
    assert(key(table("id", "s,big")) == "id:3")
    val older =
      table("id", "s,big", "hoodie.write.table.version" -> "8", "hoodie.write.complex.keygen.new.encoding" -> "true")
    assert(key(older) == "3")
    assert(key(table("id", "s,big", "hoodie.write.table.version" -> "8")) == "id:3")
  }

  test("without partitions a complex generator names its key column and a plain one does not") {
    assert(texts(table("id", "",
        "hoodie.datasource.write.keygenerator.class" -> "org.apache.hudi.keygen.ComplexKeyGenerator")) == (("id:3",
      "")))
    assert(texts(table("id", "",
        "hoodie.datasource.write.keygenerator.class" -> "org.apache.hudi.keygen.NonpartitionedKeyGenerator")) == ((
      "3", "")))
    assert(texts(table("id,s")) == (("id:3,s:x", "")))
  }

  test("the generator for global deletes names a single key column and makes no partitions") {
    val names = Seq("GlobalDeleteKeyGenerator", "GlobalAvroDeleteKeyGenerator")
    for (name <- names; version <- Seq("6", "8", "9"))
      assert(texts(table("id", "", "hoodie.write.table.version" -> version,
            "hoodie.datasource.write.keygenerator.class" -> s"org.apache.hudi.keygen.$name")) == (("id:3", "")), name)
  }

  test("a key is null if its value, or each of its parts, is null or empty") {
    assert(key(table("s"), "s" -> null) == null)
    assert(key(table("s"), "s" -> "") == null)
    assert(key(table("id"), "id" -> null) == null)
    assert(key(table("s,id"), "s" -> "", "id" -> null) == null)
    assert(key(table("id", "s,big"), "id" -> null) == null)
  }

  test("logical timestamps in keys are strings in the JVM's zone, truncated to milliseconds") {
    val logical = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled" -> "true"
    val at      = Instant.parse("2024-01-02T03:04:05.678901Z")
    assert(key(table("ts", "", logical), "ts" -> at) == new Timestamp(at.toEpochMilli).toString)
    assert(key(table("ntz", "", logical)) == "1704164645678901")
  }

  test("a partition path has one level per column, plain or hive style") {
    assert(path(table("id", "s")) == "x")
    assert(path(table("id", "s,day")) == "x/2024-01-02")
    assert(path(table("id", "s,day",
        "hoodie.datasource.write.hive_style_partitioning" -> "true")) == "s=x/day=2024-01-02")
  }

  test("a null or empty partition value becomes the default partition") {
    for (value <- Seq[Any](null, "")) {
      assert(path(table("id", "s"), "s" -> value) == "__HIVE_DEFAULT_PARTITION__")
      assert(path(table("id", "s", "hoodie.datasource.write.hive_style_partitioning" -> "true"),
        "s" -> value) == "s=__HIVE_DEFAULT_PARTITION__")
      assert(path(table("id", "s", "hoodie.datasource.write.partitionpath.urlencode" -> "true"),
        "s" -> value) == "__HIVE_DEFAULT_PARTITION__")
    }
  }

  test("url encoding escapes only characters that paths cannot contain") {
    val encoded = table("id", "s", "hoodie.datasource.write.partitionpath.urlencode" -> "true")
    assert(path(encoded, "s" -> "x:y,z/=%") == "x%3Ay,z%2F%3D%25")
    assert(path(encoded, "s" -> "a b,}ä€") == "a b,}ä€")
    assert(path(encoded, "s" -> "\u0001\u001f\u007f\"#'*?\\{[]^") == "%01%1F%7F%22%23%27%2A%3F%5C%7B%5B%5D%5E")
    assert(path(table("id", "s"), "s" -> "a/b") == "a/b")
  }

  private def refused(config: TableConfig, values: (String, Any)*): Boolean = {
    val thrown = intercept[Exception](path(config, values: _*))
    val ours = Iterator.iterate[Throwable](thrown)(_.getCause).takeWhile(_ != null).collectFirst {
      case e: MerganserException => e
    }
    ours.exists(_.condition == "PARTITION_PATH_INVALID")
  }

  test("a partition value that leads out of the table or names a hidden folder is refused") {
    val both = Seq("hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.partitionpath.urlencode")
    val reserved = Seq("..", ".", ".hoodie", ".Trash", ".snapshot", ".hoodie_partition_metadata", ".a.crc")
    for (name <- reserved ++ reserved.map("a/" + _) ++ Seq("a/../b", ".Trash/a", "/a", "a/", "a//b")) {
      assert(refused(table("id", "s"), "s" -> name), name)
      assert(refused(table("id", "b,s"), "s" -> name), name)
      path(table("id", "s", both.map(_ -> "true"): _*), "s" -> name) // what the error says to do
    }
    assert(refused(timed("UNIX_TIMESTAMP", "big", "'.Trash'"), "big" -> 1L))
    for (name <- Seq(".trash", ".Trash-1", "...", ".a", "crc", "hoodie"))
      assert(path(table("id", "s"), "s" -> name) == name)
  }

  private def timed(kind: String, field: String, format: String, more: (String, String)*): TableConfig = {
    val options = Seq("hoodie.keygen.timebased.timestamp.type" -> kind,
      "hoodie.keygen.timebased.output.dateformat" -> format) ++ more
    table("id", field, ("hoodie.datasource.write.keygenerator.type" -> "TIMESTAMP") +: options: _*)
  }

  test("a time-based partition is formatted from numbers by their unit") {
    assert(path(timed("EPOCHMILLISECONDS", "big", "yyyy/MM/dd"), "big" -> 1700000000000L) == "2023/11/14")
    assert(path(timed("EPOCHMICROSECONDS", "big", "yyyy-MM-dd HH"), "big" -> 1700000000000000L) == "2023-11-14 22")
    assert(path(timed("UNIX_TIMESTAMP", "big", "yyyyMMdd"), "big" -> 1700000000L) == "20231114")
    assert(path(timed("SCALAR", "id", "yyyyMMdd", "hoodie.keygen.timebased.timestamp.scalar.time.unit" -> "DAYS"),
      "id" -> 1) == "19700102")
    assert(path(timed("EPOCHMILLISECONDS", "big", "yyyyMMdd HH:mm", "hoodie.keygen.timebased.timezone" -> "Asia/Tokyo"),
      "big" -> 0L) == "19700101 09:00")
  }

  test("a time-based partition is formatted from timestamps, dates and texts") {
    assert(path(timed("EPOCHMICROSECONDS", "ts", "yyyy/MM/dd")) == "2024/01/02")
    assert(path(timed("EPOCHMILLISECONDS", "day", "yyyy/MM")) == "2024/01")
    val formats = "hoodie.keygen.timebased.input.dateformat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSZ,yyyyMMdd"
    assert(path(timed("DATE_STRING", "s", "yyyy/MM/dd/HH", formats),
      "s" -> "2020-04-01T13:01:33.428Z") == "2020/04/01/13")
    assert(path(timed("DATE_STRING", "s", "yyyy/MM/dd/HH", formats),
      "s" -> "2020-04-01T13:01:33.428+0200") == "2020/04/01/11")
    assert(path(timed("DATE_STRING", "s", "yyyy/MM/dd/HH", formats), "s" -> "20200401") == "2020/04/01/00")
    val thrown = intercept[Exception](path(timed("DATE_STRING", "s", "yyyy", formats), "s" -> "20200231"))
    assert(thrown.getMessage.contains("PARTITION_TIME_UNREADABLE") || thrown.getCause.getMessage.contains(
      "PARTITION_TIME_UNREADABLE"))
  }

  test("a time-based partition uses the zones of input and output and the configured delimiter") {
    def zone(name: String, zone: String) = s"hoodie.keygen.timebased.$name" -> zone
    val format                           = zone("input.dateformat", "yyyy-MM-dd HH:mm")
    val text                             = "s" -> "2024-01-02 00:30"
    assert(path(timed("DATE_STRING", "s", "yyyyMMdd HH:mm", format), text) == "20240102 00:30")
    assert(path(timed("DATE_STRING", "s", "yyyyMMdd HH:mm", format, zone("input.timezone", "Asia/Tokyo")),
      text) == "20240101 15:30")
    assert(path(timed("DATE_STRING", "s", "yyyyMMdd HH:mm", format, zone("output.timezone", "Asia/Tokyo")),
      text) == "20240102 09:30")
    val several =
      Seq(zone("input.dateformat", "yyyy,MM;yyyy-MM-dd HH:mm"), zone("input.dateformat.list.delimiter.regex", ";"))
    assert(path(timed("DATE_STRING", "s", "yyyy", several: _*), "s" -> "2023,01") == "2023")
  }

  test("every time zone of java.util is accepted and an unknown one is refused by name") {
    def in(zone: String) = path(timed("EPOCHMILLISECONDS", "big", "HH", "hoodie.keygen.timebased.timezone" -> zone),
      "big" -> 0L)
    assert(Seq("UTC", "GMT", "GMT+8:00", "+08:00", "Asia/Tokyo", "PST").map(in) == Seq("00", "00", "08", "08", "09",
      "16"))
    val thrown = intercept[MerganserException](in("Mars"))
    assert(thrown.condition == "OPTION_VALUE_INVALID" && thrown.getMessage.contains("'Mars'"))
  }

  test("a null time is formatted as one millisecond after 1970 began") {
    assert(path(timed("EPOCHMILLISECONDS", "big", "yyyy/MM/dd HH:mm:ss.SSS"),
      "big" -> null) == "1970/01/01 00:00:00.001")
  }

  test("a time-based path is encoded and hive-styled as the table is configured") {
    val both = Seq("hoodie.datasource.write.partitionpath.urlencode" -> "true",
      "hoodie.datasource.write.hive_style_partitioning" -> "true")
    assert(path(timed("EPOCHMILLISECONDS", "big", "yyyy/MM/dd", both: _*),
      "big" -> 1700000000000L) == "big=2023%2F11%2F14")
  }

  test("a time-based column that became a string gives the paths of its numbers") {
    val format = "hoodie.keygen.timebased.input.dateformat"
    // A new table needs the format; one whose column was a number has none.
    def numbers(kind: String, field: String, output: String, more: (String, String)*) = {
      val config = timed(kind, field, output, (format -> "yyyy") +: more: _*)
      config.copy(properties = config.properties - format)
    }
    assert(path(numbers("EPOCHMILLISECONDS", "s", "yyyy/MM/dd"), "s" -> "1700000000000") == "2023/11/14")
    assert(path(numbers("EPOCHMICROSECONDS", "s", "yyyy-MM-dd HH"), "s" -> "1700000000000000") == "2023-11-14 22")
    assert(path(numbers("UNIX_TIMESTAMP", "s", "yyyyMMdd"), "s" -> "1700000000") == "20231114")
    assert(path(numbers("UNIX_TIMESTAMP", "s", "yyyyMMdd"), "s" -> "1.7E9") == "20231114")
    assert(path(numbers("SCALAR", "s", "yyyyMMdd", "hoodie.keygen.timebased.timestamp.scalar.time.unit" -> "DAYS"),
      "s" -> "1") == "19700102")
    val thrown = intercept[Exception](path(numbers("UNIX_TIMESTAMP", "s", "yyyyMMdd"), "s" -> "2023-11-14"))
    val texts  = Iterator.iterate[Throwable](thrown)(_.getCause).takeWhile(_ != null).map(String.valueOf).mkString
    assert(texts.contains("PARTITION_TIME_UNREADABLE") && texts.contains("it is no number, as UNIX_TIMESTAMP has it"))
  }

  test("timestamps in paths keep the form of the table's paths, independent of its keys") {
    val at = "ts" -> Instant.parse("2024-01-05T18:00:00.789Z")
    def in(form: String, more: (String, String)*) =
      table("ts", "s,ts", more: _*).copy(properties =
        table("ts", "s,ts", more: _*).properties + (KeyForm.TimestampLevels -> form))
    val local   = new Timestamp(at._2.toEpochMilli).toString
    val seconds = local.takeWhile(_ != '.').replace(":", "%3A")
    assert(texts(in("seconds"), at) == (("ts:1704477600789000", s"x/$seconds")))
    assert(texts(in("seconds", "hoodie.datasource.write.partitionpath.urlencode" -> "true",
        "hoodie.datasource.write.hive_style_partitioning" -> "true"), at)._2 == s"s=x/ts=$seconds")
    assert(texts(in("logical"), at) == (("ts:1704477600789000", s"x/$local")))
    assert(texts(in("micros", "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled" -> "true"),
      at) == ((s"ts:$local", "x/1704477600789000")))
    val byId =
      table("id", "ts").copy(properties = table("id", "ts").properties + (KeyForm.TimestampLevels -> "seconds"))
    assert(path(byId, "ts" -> null) == "__HIVE_DEFAULT_PARTITION__")
    for (
      (level, form) <- Seq("-1" -> "micros", "2024-01-05 18%3A00%3A00" -> "seconds",
        "2024-01-05 18%3A00%3A00.7" -> "logical", "2024-01-05 18:00:00" -> "seconds")
    )
      assert(TimestampLevel.of(level).map(_.name).contains(form), level)
    assert(TimestampLevel.of("__HIVE_DEFAULT_PARTITION__").isEmpty)
  }

  test("only values whose key or path another value has count as ambiguous") {
    def found(config: TableConfig, values: (String, Any)*): (Boolean, Boolean) = {
      val cells = schema.fieldNames.zip(row).map { case (name, cell) => values.toMap.getOrElse(name, cell) }
      val rows  = spark.createDataFrame(Seq(Row(cells.toSeq: _*)).asJava, schema)
      def is(column: Option[Column]) = column.exists(c => rows.select(c).head().getBoolean(0))
      (is(AmbiguousKeys.inKey(config, schema)), is(AmbiguousKeys.inPath(config, schema)))
    }
    for (
      (value, isFound) <- Seq("__null__" -> true, "__empty__" -> true, "x,big:1" -> true, "x,id:1" -> false,
        "x, big:1" -> false, "" -> false, "null" -> false)
    )
      assert(found(table("s,big"), "s" -> value)._1 == isFound, value)
    assert(!found(table("big,s"), "s" -> "x,s:1,big:2")._1 && found(table("big,s"), "s" -> "__null__")._1)
    assert(!found(table("s"), "s" -> "__null__")._1 && !found(table("id", "s,big"), "s" -> "__null__")._1)
    assert(!found(table("s,big"), "s" -> null)._1)
    for (
      (partitions, value, isFound) <- Seq(("s", "__HIVE_DEFAULT_PARTITION__", true), ("s", "a/b", false),
        ("s,big", "a/b", false), ("s,inner.a", "a/b", true), ("inner.a,s", "a/b", false), ("s", "__null__", false))
    )
      assert(found(table("id", partitions), "s" -> value)._2 == isFound, s"$partitions $value")
    val encoded = "hoodie.datasource.write.partitionpath.urlencode" -> "true"
    assert(!found(table("id", "s,inner.a", encoded), "s" -> "a/b")._2)
    assert(found(table("id", "s", encoded), "s" -> "__HIVE_DEFAULT_PARTITION__")._2)
  }

  test("a custom generator mixes plain and time-based levels") {
    val config = table("id", "s:SIMPLE,big:TIMESTAMP", "hoodie.keygen.timebased.timestamp.type" -> "EPOCHMILLISECONDS",
      "hoodie.keygen.timebased.output.dateformat" -> "yyyy-MM")
    assert(texts(config, "big" -> 1700000000000L) == (("3", "x/2023-11")))
  }

  test("keys are computed by generated code") {
    val config = table("id,s", "day,big")
    val columns: Seq[Column] =
      Seq(KeyColumns.recordKey(config, schema).as("k"), KeyColumns.partitionPath(config, schema).as("p"))
    val plan =
      spark.range(5).selectExpr("CAST(id AS INT) id", "'x' s", "id big", "DATE'2024-01-02' day").select(columns: _*)
    assert(plan.collect().map(_.getString(0)).toSeq == (0 until 5).map(i => s"id:$i,s:x"))
    assert(plan.queryExecution.executedPlan.toString.contains("*(1) Project"))
  }
}
