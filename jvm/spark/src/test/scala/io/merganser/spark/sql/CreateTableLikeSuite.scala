package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.{LocalSession, MerganserCatalog, MerganserLakeCatalog}
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.source.TableNames
import io.merganser.table.TableSuite
import org.apache.spark.sql.{AnalysisException, Row, SparkSession}
import org.apache.spark.sql.catalyst.parser.ParseException

import java.nio.file.Files

// Guarantee (SQL and sessions): `CREATE TABLE … LIKE` copies all that a table stores but name and location, in every
//   catalog. Also: LikeSettingsSuite, test_a_table_like_another_one_has_its_columns_and_settings_in_every_catalog
/** CREATE TABLE … LIKE: of our tables in all catalogs, and of views and other formats, which stay Spark's. */
final class CreateTableLikeSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  private lazy val place = Files.createTempDirectory("merganser-like")

  override protected def settings: Map[String, String] = Map(
    "spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName,
    "spark.sql.catalog.lake" -> classOf[MerganserLakeCatalog].getName,
    "spark.sql.catalog.lake.warehouse" -> place.resolve("lake").toString,
    "spark.sql.warehouse.dir" -> place.resolve("tables").toString
  )

  private val Declared =
    "(id INT COMMENT 'the key', ts BIGINT NOT NULL, n INT, code VARCHAR(3), day STRING) " +
      "USING merganser PARTITIONED BY (day) COMMENT 'all ducks' " +
      "TBLPROPERTIES (primaryKey = 'id', type = 'mor', preCombineField = 'ts', team = 'birds', " +
      "'merganser.rule.column.n' = 'sum', 'hoodie.index.type' = 'BUCKET', 'hoodie.bucket.index.num.buckets' = '2', " +
      "'hoodie.spark.sql.insert.into.operation' = 'upsert')"

  override def beforeAll(): Unit = {
    super.beforeAll()
    run(s"CREATE TABLE a $Declared")
    run("INSERT INTO a VALUES (1, 1, 1, 'x', 'd1'), (2, 1, 1, 'y', 'd2')")
    run("CREATE NAMESPACE lake.birds")
    run("CREATE NAMESPACE lake.birds.wild")
    run(s"CREATE TABLE lake.birds.own $Declared")
  }

  override def afterAll(): Unit =
    try super.afterAll()
    finally {
      org.apache.hadoop.fs.FileUtil.fullyDelete(place.toFile)
      ()
    }

  private def run(statement: String, session: SparkSession = spark): Seq[Row] =
    session.sql(statement).collect().toSeq

  private def refused(statement: String, session: SparkSession = spark): String =
    intercept[MerganserException](run(statement, session)).condition

  private def inSession[T](settings: (String, String)*)(body: => T): T = {
    settings.foreach { case (key, value) => spark.conf.set(key, value) }
    try body
    finally settings.foreach { case (key, _) => spark.conf.unset(key) }
  }

  private def stored(table: String): Map[String, String] = {
    val named = Seq("hoodie.table.name", "hoodie.database.name", "hoodie.table.checksum", "hoodie.table.create.schema")
    opened(table).config.properties.filterNot { case (key, _) =>
      named.contains(key) || key.startsWith("merganser.catalog.")
    }
  }

  private def opened(table: String): OpenTable = OpenTable.load(spark, pathOf(table))

  private def pathOf(table: String): String = TableNames.pathOf(spark, table)

  private def described(table: String): Seq[Row] = run(s"DESCRIBE TABLE $table")

  private def columns(table: String): Seq[(String, String, Option[String])] =
    described(table).take(5).map(r => (r.getString(0), r.getString(1), Option(r.getString(2)).filter(_.nonEmpty)))

  private def details(table: String): Map[String, String] =
    run(s"DESCRIBE TABLE EXTENDED $table").map(r => r.getString(0) -> r.getString(1)).toMap

  private def hasTable(name: String): Boolean = spark.catalog.tableExists(name)

  test("CREATE TABLE LIKE copies columns and settings, but not rows and path, in any catalog") {
    val before = run("SELECT * FROM a ORDER BY id")
    for (
      (name, existing) <- Seq("b" -> "a", "default.c" -> "spark_catalog.default.a", "lake.birds.b" -> "a",
        "lake.birds.wild.c" -> "lake.birds.own", "spark_catalog.default.d" -> "lake.birds.wild.c",
        "e" -> s"merganser.`${pathOf("a")}`")
    ) withClue(s"$name like $existing: ") {
      assert(run(s"CREATE TABLE $name LIKE $existing").isEmpty)
      assert(stored(name) == stored("a"))
      assert(described(name) == described(existing) && spark.table(name).schema == spark.table(existing).schema)
      assert(opened(name).timeline.completed.isEmpty)
      assert(pathOf(name) != pathOf("a") && run(s"SELECT * FROM $name").isEmpty)
    }
    run("INSERT INTO lake.birds.b VALUES (1, 1, 5, 'x', 'd1')")
    run("INSERT INTO lake.birds.b VALUES (1, 2, 6, 'z', 'd1')")
    assert(run("SELECT * FROM lake.birds.b") == Seq(Row(1, 2L, 11, "z", "d1")))
    assert(run("SELECT * FROM a ORDER BY id") == before)
    def shown(name: String) = run(s"SHOW TBLPROPERTIES $name").map(r => r.getString(0) -> r.getString(1)).toMap
    for (name <- Seq("b", "lake.birds.b", "lake.birds.wild.c"))
      assert(shown(name)("team") == "birds" && details(name)("Comment") == "all ducks", name)
    run("USE lake.birds")
    try {
      run("CREATE TABLE here LIKE own")
      assert(stored("here") == stored("spark_catalog.default.a"))
    } finally run("USE spark_catalog.default")
  }

  test("CREATE TABLE LIKE copies tables of every version and rule") {
    val models = "org.apache.hudi.common.model."
    for (
      (properties, number) <- Seq(
        "primaryKey = 'id', orderingFields = 'ts', 'hoodie.write.table.version' = '6'",
        "primaryKey = 'id', orderingFields = 'ts', type = 'mor', 'hoodie.write.table.version' = '8'",
        s"primaryKey = 'id', orderingFields = 'ts', payloadClass = '${models}PartialUpdateAvroPayload'",
        "primaryKey = 'id', recordMergeMode = 'CUSTOM', 'hoodie.record.merge.property.unit' = 'km', " +
          "recordMergeStrategyId = '00f9d1a4-6a0b-4cbd-9e6e-9e6a8e0b3a55'",
        "'hoodie.table.cdc.enabled' = 'true'",
        "primaryKey = 'id', 'merganser.rule.default' = 'last_non_null', 'merganser.rule.group.g.columns' = 'v', " +
          "'merganser.rule.group.g.ordering' = 'seen', orderingFields = 'ts'"
      ).zipWithIndex
    ) withClue(properties) {
      run(
        s"CREATE TABLE kind$number (id INT, ts BIGINT, v STRING, seen BIGINT, meta STRUCT<region: STRING>) " +
          s"USING merganser PARTITIONED BY (meta.region) TBLPROPERTIES ($properties)")
      run(s"CREATE TABLE like_kind$number LIKE kind$number")
      assert(stored(s"like_kind$number") == stored(s"kind$number"))
    }
  }

  test("CREATE TABLE LIKE copies the stored rule and not the declared one") {
    run("CREATE TABLE ruled (id INT, n INT) USING merganser " +
      "TBLPROPERTIES (primaryKey = 'id', 'merganser.rule.column.n' = 'sum')")
    run("CALL change_rule(table => 'ruled', options => 'merganser.rule.column.n=max')")
    run("CREATE TABLE like_ruled LIKE ruled")
    assert(opened("like_ruled").config.rule.get.columns.map { case (name, function) => name -> function.text } ==
      Map("n" -> "max"))
  }

  test("TBLPROPERTIES replace the existing table's, and are refused as in CREATE TABLE, before anything is written") {
    run("CREATE TABLE own LIKE a USING merganser TBLPROPERTIES (orderingFields = 'n', type = 'cow', team = 'all', " +
      "'merganser.rule.column.code' = 'first')")
    val config = opened("own").config
    assert(config.orderingFields == Seq("n") && !config.isMergeOnRead && config.recordKeyFields == Seq("id"))
    assert(config.rule.get.columns.keySet == Set("code"))
    assert(run("SHOW TBLPROPERTIES own").contains(Row("team", "all")))
    for (
      (property, condition) <- Seq(
        "'hoodie.index.typ' = 'SIMPLE'" -> "UNKNOWN_OPTION",
        "primaryKey = 'no'" -> "RECORD_KEY_COLUMN_MISSING",
        "orderingFields = 'no'" -> "ORDERING_FIELD_MISSING",
        "type = 'cor'" -> "OPTION_VALUE_INVALID",
        "'merganser.rule.column.code' = 'sum'" -> "RULE_INVALID"
      );
      name <- Seq("no", "lake.birds.no")
    ) withClue(s"$name, $property: ") {
      assert(refused(s"CREATE TABLE $name LIKE a TBLPROPERTIES ($property)") == condition)
      assert(!hasTable(name))
    }
    assert(!Files.exists(place.resolve("tables/no")) && !Files.exists(place.resolve("lake/birds/no")))
  }

  test("the session's defaults for new tables do not affect CREATE TABLE LIKE") {
    run("CREATE TABLE plain (id INT, ts BIGINT) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    inSession("hoodie.table.ordering.fields" -> "ts", "hoodie.index.type" -> "BUCKET",
      "hoodie.datasource.write.table.type" -> "MERGE_ON_READ") {
      run("CREATE TABLE like_plain LIKE plain")
    }
    assert(stored("like_plain") == stored("plain"))
  }

  test("LOCATION makes an external table; a location or folder that is taken is refused as in CREATE TABLE") {
    val outside = folder.resolve("outside")
    run(s"CREATE TABLE external LIKE a LOCATION '$outside'")
    run("DROP TABLE external")
    assert(stored(s"merganser.`$outside`") == stored("a"))
    run(s"CREATE TABLE external LIKE a LOCATION '$outside'")
    assert(refused(s"CREATE TABLE other LIKE a LOCATION '$outside' TBLPROPERTIES (type = 'cow')") == "CONFIG_CONFLICT")
    frame(Nil).write.format("merganser").options(options(mergeOnRead = false, bucketed = false))
      .save(place.resolve("tables/left").toString)
    assert(refused("CREATE TABLE left LIKE a") == "TABLE_FOLDER_TAKEN")
    Files.createDirectories(place.resolve("tables/full"))
    Files.createFile(place.resolve("tables/full/data.csv"))
    assert(refused("CREATE TABLE full LIKE a") == "FOLDER_NOT_EMPTY")
    assert(!Seq("other", "left", "full").exists(hasTable))
  }

  test("an existing table is refused, and left as it is with IF NOT EXISTS") {
    run("CREATE TABLE there (id INT) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    run("INSERT INTO there VALUES (1)")
    val before = stored("there")
    val error  = intercept[AnalysisException](run("CREATE TABLE there LIKE a"))
    assert(error.getMessage.contains("TABLE_OR_VIEW_ALREADY_EXISTS"))
    run("CREATE TABLE IF NOT EXISTS there LIKE a TBLPROPERTIES (type = 'cow')")
    run("CREATE TABLE IF NOT EXISTS spark_catalog.default.there LIKE a")
    assert(stored("there") == before && run("SELECT * FROM there") == Seq(Row(1)))
    run("CREATE TABLE IF NOT EXISTS new LIKE a")
    assert(stored("new") == stored("a"))
  }

  test("EXPLAIN creates nothing") {
    assert(run("EXPLAIN CREATE TABLE planned LIKE a").head.getString(0).contains("CreateLikeCommand"))
    assert(!hasTable("planned"))
  }

  test("the session's dry run refuses LIKE and CREATE TABLE") {
    inSession("spark.merganser.write.dryRun" -> "true") {
      for (name <- Seq("dry", "lake.birds.dry"); rest <- Seq("LIKE a", Declared)) withClue(s"$name $rest") {
        assert(refused(s"CREATE TABLE $name $rest") == "DRY_RUN_UNSUPPORTED")
        assert(!hasTable(name))
      }
      run("CREATE TABLE IF NOT EXISTS a LIKE a")
    }
    assert(!Files.exists(place.resolve("tables/dry")) && !Files.exists(place.resolve("lake/birds/dry")))
  }

  test("USING another format makes an empty table of that format or is refused") {
    run("CREATE TABLE files LIKE a USING parquet TBLPROPERTIES (team = 'all')")
    assert(columns("files") == columns("a"))
    run("INSERT INTO files VALUES (1, 1, 1, 'x', 'd1')")
    assert(Files.isDirectory(place.resolve("tables/files/day=d1")))
    val shown = run("SHOW TBLPROPERTIES files").map(_.getString(0))
    assert(shown.contains("team") && !shown.contains("primaryKey"))
    run("CREATE TABLE IF NOT EXISTS files LIKE a USING parquet")
    assert(run("SELECT id FROM files") == Seq(Row(1)))
    run(s"CREATE TABLE spark_catalog.default.lines LIKE lake.birds.own USING json LOCATION '${folder.resolve("json")}'")
    assert(details("lines")("Location") == s"file:${folder.resolve("json")}" && columns("lines") == columns("a"))
    assert(refused("CREATE TABLE other LIKE a USING hudi") == "HUDI_NOT_LOADED")
    assert(refused("CREATE TABLE lake.birds.other LIKE a USING hudi") == "HUDI_NOT_LOADED")
    assert(refused("CREATE TABLE lake.birds.other LIKE a USING parquet") == "CATALOG_OF_ONE_FORMAT")
    intercept[Exception](run("CREATE TABLE other LIKE a USING nothing"))
    assert(!hasTable("other") && !hasTable("lake.birds.other"))
  }

  test("LIKE a view, a temporary view or a table of another format is Spark's own statement") {
    run("CREATE TABLE theirs (id INT, p STRING) USING parquet PARTITIONED BY (p)")
    run("CREATE VIEW viewed AS SELECT id, day FROM a")
    run("CREATE TABLE both LIKE a")
    run("CREATE TEMPORARY VIEW both AS SELECT id, code FROM a")
    try
      for ((name, existing) <- Seq("like_theirs" -> "theirs", "like_view" -> "viewed", "like_temp" -> "both"))
        withClue(existing) {
          run(s"CREATE TABLE $name LIKE $existing")
          assert(details(name)("Provider") == "parquet")
          assert(spark.table(name).schema.fieldNames.toSeq == spark.table(existing).schema.fieldNames.toSeq)
          assert(spark.table(name).count() == 0)
        }
    finally run("DROP VIEW both")
    intercept[ParseException](run("CREATE TABLE x.y.z LIKE theirs AND MORE"))
    intercept[AnalysisException](run("CREATE TABLE like_nothing LIKE nothing"))
    assert(!hasTable("like_nothing"))
  }

  test("a session catalog of another class refuses CREATE TABLE LIKE, a catalog of folders beside it does not") {
    val session = spark.newSession()
    session.conf.unset("spark.sql.catalog.spark_catalog")
    for (existing <- Seq("a", "lake.birds.own")) {
      assert(refused(s"CREATE TABLE entry LIKE $existing", session) == "LIKE_NEEDS_CATALOG")
      assert(refused(s"CREATE TABLE spark_catalog.default.entry LIKE $existing", session) == "LIKE_NEEDS_CATALOG")
      assert(!hasTable("entry"))
    }
    for ((existing, number) <- Seq("lake.birds.own", "a").zipWithIndex) {
      run(s"CREATE TABLE lake.birds.beside$number LIKE $existing", session)
      run(s"CREATE TABLE files$number LIKE $existing USING parquet", session)
      assert(stored(s"lake.birds.beside$number") == stored("a") && columns(s"files$number") == columns("a"))
    }
  }
}
