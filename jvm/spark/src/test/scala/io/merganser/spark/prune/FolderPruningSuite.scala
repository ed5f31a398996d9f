package io.merganser.spark.prune

import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.NewTable
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

/** Which folders a read lists: never fewer than those with rows that pass, and few more. */
class FolderPruningSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, region STRING, city STRING, year INT, day DATE, ms BIGINT")

  private def pruning(fields: String, more: (String, String)*): PartitionPruning = {
    val options = Map("hoodie.datasource.write.recordkey.field" -> "id",
      "hoodie.datasource.write.partitionpath.field" -> fields) ++
      more.map { case (key, value) =>
        (if (key.startsWith("hoodie")) key else s"hoodie.datasource.write.$key") -> value
      }
    PartitionPruning(TableConfig(NewTable.properties(options, schema, "t")), schema)
  }

  private val hive    = "hive_style_partitioning" -> "true"
  private val encoded = "partitionpath.urlencode" -> "true"
  private val slashed = "slash.separated.date.partitioning" -> "true"

  /** The folders that are listed of a tree of partitions, level by level. */
  private def listed(pruning: PartitionPruning, paths: Seq[String], filters: Filter*): Set[String] =
    paths.flatMap { path =>
      val levels = path.split('/').toSeq
      val above  = levels.indices.map(i => levels.take(i + 1).mkString("/"))
      above.takeWhile(pruning.mayContain(_, filters.toSeq))
    }.toSet

  test("filters on partition columns skip the folders of other values at each level") {
    for ((more, name) <- Seq(Nil -> "", Seq(hive) -> "hive", Seq(encoded) -> "encoded")) {
      val by = pruning("region,year", more: _*)
      def path(region: String, year: Int) =
        if (more.contains(hive)) s"region=$region/year=$year" else s"$region/$year"
      val paths = for (region <- Seq("east", "west"); year <- 2020 to 2022) yield path(region, year)
      val east  = path("east", 2020).takeWhile(_ != '/')
      assert(listed(by, paths, EqualTo("region", "east")) == paths.take(3).toSet + east, name)
      assert(listed(by, paths, EqualTo("region", "east"), EqualTo("year", 2021)) == Set(east, path("east", 2021)), name)
      assert(listed(by, paths, In("region", Array("east", null)), GreaterThan("year", 2020)) ==
          Set(east, path("east", 2021), path("east", 2022)), name)
      assert(listed(by, paths, EqualTo("id", 1)).size == 8, name)
    }
  }

  test("equality filters on string columns give the folders without a listing") {
    assert(pruning("region").named(Seq(EqualTo("region", "east"))).contains(Seq("east")))
    assert(pruning("region", encoded).named(Seq(And(EqualTo("region", "east"), EqualTo("id", 1)))).contains(
        Seq("east")))
    assert(pruning("region", hive).named(Seq(EqualTo("region", "east"))).contains(Seq("region=east", "east")))
    assert(pruning("region,city").named(Seq(EqualTo("city", "b"), In("region", Array("a", "c", null)))).contains(
        Seq("a/b", "c/b")))
    assert(pruning("region", slashed).named(Seq(EqualTo("region", "2024-01-02"))).contains(Seq("2024/01/02")))
    for {
      (by, filter) <- Seq(
        pruning("region") -> EqualTo("region", ""),
        pruning("region") -> EqualTo("region", ".."),
        pruning("region") -> EqualTo("region", ".hoodie"),
        pruning("region") -> EqualTo("region", "a//b"),
        pruning("region") -> EqualTo("region", "default"),
        pruning("region") -> EqualNullSafe("region", null),
        pruning("region") -> GreaterThan("region", "a"),
        pruning("region") -> Or(EqualTo("region", "a"), EqualTo("id", 1)),
        pruning("region", encoded) -> EqualTo("region", "a/b"),
        pruning("region", encoded) -> EqualTo("region", "a:b"),
        // Other writers may have other strings of these.
        pruning("year") -> EqualTo("year", 2020),
        pruning("region,year") -> And(EqualTo("region", "a"), EqualTo("year", 2020)),
        pruning("region") -> In("region", (0 to 200).map(i => s"r$i": Any).toArray)
      )
    } assert(by.named(Seq(filter)).isEmpty, filter)
  }

  test("the years and months of a time-based path are compared before its days are listed") {
    val timed = Seq("hoodie.datasource.write.keygenerator.type" -> "TIMESTAMP",
      "hoodie.keygen.timebased.timestamp.type" -> "EPOCHMILLISECONDS",
      "hoodie.keygen.timebased.output.dateformat" -> "yyyy/MM/dd")
    val days   = for (y <- 2022 to 2024; m <- Seq("01", "02"); d <- Seq("01", "02")) yield s"$y/$m/$d"
    val noon   = java.time.Instant.parse("2023-02-01T12:00:00Z").toEpochMilli
    val byTime = pruning("ms", timed: _*)
    assert(listed(byTime, days, EqualTo("ms", noon)) == Set("2023", "2023/02", "2023/02/01"))
    assert(listed(byTime, days, GreaterThan("ms", noon)).count(_.length == 10) == 6)
    for (column <- Seq("day", "region")) {
      def value(text: String): Any = if (column == "day") java.sql.Date.valueOf(text) else text
      val bySlash                  = pruning(column, slashed)
      assert(listed(bySlash, days, EqualTo(column, value("2023-02-01"))) == Set("2023", "2023/02", "2023/02/01"))
      if (column == "day") assert(listed(bySlash, days, GreaterThanOrEqual(column, value("2024-01-02"))) ==
        Set("2024", "2024/01", "2024/01/02", "2024/02", "2024/02/01", "2024/02/02"))
    }
  }

  test("no folder with a matching row is skipped, whatever characters its values have") {
    val seed   = sys.env.get("MERGANSER_SEED").map(_.toLong).getOrElse(11L)
    val random = new scala.util.Random(seed)
    val texts =
      Seq("a", "b", "a/b", "a/b/c", "b/a", "a-b", "2024-01-02", "2024-01", "2024/01/02", "x%2Fy", "default", "", null)
    def pick[A](of: Seq[A]): A = of(random.nextInt(of.size))
    def level(name: String, value: Any, options: Seq[(String, String)], isSlashed: Boolean): String = {
      val text    = if (value == null || value == "") "__HIVE_DEFAULT_PARTITION__" else value.toString
      val written = if (isSlashed) text.replace('-', '/') else text
      val escaped = if (options.contains(encoded)) written.replace("%", "%25").replace("/", "%2F") else written
      if (options.contains(hive)) s"$name=$escaped" else escaped
    }
    def filter(column: String, value: Any): Filter = value match {
      case null => pick(Seq[Filter](IsNull(column), EqualNullSafe(column, null)))
      case text: String => pick(Seq[Filter](EqualTo(column, text), In(column, Array(text, "b", "zz")),
            GreaterThanOrEqual(column, text), LessThanOrEqual(column, text), LessThan(column, text + "/"),
            GreaterThan(column, text.dropRight(1)).asInstanceOf[Filter], StringStartsWith(column, text.take(2)),
            Or(EqualTo(column, text), EqualTo("id", 1)), Not(EqualTo(column, text + "x"))).filterNot {
            case GreaterThan(_, _) => text.isEmpty
            case _                 => false
          })
      case other => pick(Seq[Filter](EqualTo(column, other), GreaterThanOrEqual(column, other),
            LessThanOrEqual(column, other)))
    }
    val tables = for {
      fields <- Seq("region", "region,city", "region,year", "year,region", "region,city,year", "day")
      options <- Seq(Nil, Seq(hive), Seq(encoded), Seq(hive, encoded)) ++
        (if (fields.contains(",")) Nil else Seq(Seq(slashed)))
    } yield (fields.split(',').toSeq, options, pruning(fields, options: _*))
    for ((fields, options, by) <- tables; _ <- 1 to 400) {
      val values = fields.map {
        case "year" => pick(Seq[Any](2020, 2021, 7))
        case "day"  => java.sql.Date.valueOf(pick(Seq("2024-01-02", "2023-12-31")))
        // Where dashes become slashes, strings are compared as if they had dashes.
        case _ => pick(if (options.contains(slashed)) texts.filterNot(t => t != null && t.contains("/")) else texts)
      }
      val isSlashed = options.contains(slashed)
      val path = fields.zip(values).map { case (name, value) => level(name, value, options, isSlashed) }.mkString("/")
      val filters = fields.zip(values).filter(_ => random.nextBoolean()).map { case (n, v) => filter(n, v) }
      val levels  = path.split('/').toSeq
      def clue    = s"$path of $fields $options with $filters, seed $seed"
      levels.indices.foreach { i =>
        assert(by.mayContain(levels.take(i + 1).mkString("/"), filters), clue)
      }
      assert(by.mayHold(path, filters), clue)
      by.named(filters).foreach(found => assert(found.contains(path), clue))
    }
  }
}
