package io.merganser.table.schema

import org.apache.spark.sql.sources._
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

/** Versions of columns: their JSON, their ids, and the names that columns have in files of each version. */
class InternalSchemaSuite extends AnyFunSuite {

  private def ddl(text: String): StructType = StructType.fromDDL(text)

  private val first = InternalSchema.initial(
    ddl("id INT NOT NULL, who STRUCT<name: STRING, home: STRUCT<city: STRING>>, " +
      "tags ARRAY<STRUCT<k: STRING, v: INT>>, m MAP<STRING, STRUCT<x: INT>>, price DECIMAL(5,2)")
  )

  private def ids(columns: Seq[SchemaColumn], prefix: String = ""): Map[String, Int] = columns.flatMap { column =>
    val name = prefix + column.name
    Map(name -> column.id) ++ (column.kind match {
      case ColumnKind.Record(inner)       => ids(inner, s"$name.")
      case ColumnKind.Elements(element)   => ids(Seq(element), s"$name.")
      case ColumnKind.Entries(key, value) => ids(Seq(key, value), s"$name.")
      case _: ColumnKind.Scalar           => Map.empty[String, Int]
    })
  }.toMap

  test("the first version numbers meta columns first, then the other columns level by level, as Hudi does") {
    val numbers = ids(first.columns)
    assert(MetaColumns.names.map(numbers) == (0 to 4))
    assert(Seq("id", "who", "tags", "m", "price").map(numbers) == (5 to 9))
    assert(Seq("who.name", "who.home", "who.home.city").map(numbers) == Seq(10, 11, 12))
    assert(Seq("tags.element", "tags.element.k", "tags.element.v").map(numbers) == Seq(13, 14, 15))
    assert(Seq("m.key", "m.value", "m.value.x").map(numbers) == Seq(16, 17, 18))
    assert(first.maxColumnId == 18 && first.version == 0)
  }

  test("a version survives its JSON, which has the names of Hudi's") {
    val json = InternalSchemaJson.of(first)
    assert(InternalSchemaJson.parse(json) == first)
    assert(json.startsWith("""{"max_column_id":18,"version_id":0,"type":"record","fields":[""" +
        """{"id":0,"name":"_hoodie_commit_time","optional":true,"type":"string","doc":""}"""))
    assert(json.contains("""{"id":5,"name":"id","optional":false,"type":"int"}"""))
    assert(json.contains("""{"id":9,"name":"price","optional":true,"type":"decimal_fixed(5, 2)[3]"}"""))
    assert(json.contains(""""type":{"type":"array","element_id":13,"element":{"type":"record","fields":["""))
    assert(json.contains(""""type":{"type":"map","key_id":16,"key":"string","value_id":17,"value":{"type":"record""""))
    val all = Seq(first.copy(version = 7), first)
    assert(InternalSchemaJson.parseAll(InternalSchemaJson.ofAll(all)) == all)
    // Early releases had hyphens.
    assert(InternalSchemaJson.parse(json.replace("_id\":", "-id\":").replace("max_column-id",
        "max_column_id")) == first)
    Seq("", "{}", """{"schemas":[{}]}""", """{"schemas":[{"fields":[{"id":1}]}]}""").foreach { broken =>
      intercept[Exception](InternalSchemaJson.parseAll(broken))
    }
  }

  test("a column that is added, or dropped and added again, gets an unused id") {
    val table   = ddl("id INT, a STRING, s STRUCT<x: INT>")
    val start   = InternalSchema.initial(table)
    val dropped = start.without(Seq("a")).without(Seq("s", "x"))
    val again =
      dropped.evolved(ddl("a STRING, id BIGINT, s STRUCT<y: INT, x: INT>, n STRUCT<z: INT>"), 9, isExact = true)
    val (before, now) = (ids(start.columns), ids(again.columns))
    assert(now("id") == before("id") && now("s") == before("s"))
    assert(Seq("a", "s.y", "s.x", "n", "n.z").map(now) == (1 to 5).map(_ + start.maxColumnId))
    assert(again.version == 9 && again.maxColumnId == start.maxColumnId + 5)
    assert(again.columns.drop(5).map(_.name) == Seq("a", "id", "s", "n"))
    assert(start.evolved(table, 9, isExact = true) eq start)
  }

  test("a change of columns makes a version, and missing comments or required columns of a write make none") {
    val start = InternalSchema.initial(StructType(ddl("a INT").map(_.withComment("an a"))))
    assert(start.evolved(ddl("a INT NOT NULL"), 9, isExact = false) eq start)
    assert(start.evolved(ddl("a INT NOT NULL"), 9, isExact = true).version == 9)
    // Decimals have a name for each of Avro's types.
    val decimal = InternalSchema.initial(ddl("p DECIMAL(5,2)"))
    val plain = decimal.copy(columns =
      decimal.columns.map(c => if (c.name == "p") c.copy(kind = ColumnKind.Scalar("decimal(5, 2)")) else c))
    assert(plain.evolved(ddl("p DECIMAL(5,2)"), 9, isExact = true) eq plain)
    assert(plain.evolved(ddl("p DECIMAL(6,2)"), 9, isExact = true).version == 9)
  }

  // id, a, b, s.x, l.element.v -> id, b (renamed from a), a (new), s.y (renamed), s.x (new), l.element.w
  private val old = InternalSchema.initial(
    ddl("id INT, a INT, b INT, s STRUCT<x: INT>, l ARRAY<STRUCT<v: INT>>, m MAP<STRING, STRUCT<x: INT>>"))
  private val nowTable = ddl(
    "id INT, b INT, a INT, s STRUCT<y: INT, x: INT>, l ARRAY<STRUCT<w: INT>>, m MAP<STRING, STRUCT<z: INT>>, n INT")
  private val now = old.without(Seq("b")).renamed(Seq("a"), "b").renamed(Seq("s", "x"), "y")
    .renamed(Seq("l", "element", "v"), "w").renamed(Seq("m", "value", "x"), "z").evolved(nowTable, 5, isExact = true)
  private val history = SchemaHistory(Seq(now, old))

  test("columns are read by the file's names for their ids, and are absent if the file's column is another one") {
    val stored = history.columns("4").stored(nowTable)
    assert(stored == ddl("id INT, a INT, `a#absent` INT, s STRUCT<x: INT, `x#absent`: INT>, " +
      "l ARRAY<STRUCT<v: INT>>, m MAP<STRING, STRUCT<x: INT>>, n INT"))
    assert(history.columns("5").stored(nowTable) == nowTable && history.columns("6").stored(nowTable) == nowTable)
    // Parts of structs, in any order, and columns that no version has.
    assert(history.columns("4").stored(ddl("s STRUCT<x: INT>, z INT")) == ddl("s STRUCT<`x#absent`: INT>, z INT"))
  }

  test("filters use the file's names, and are dropped for absent columns and fields of structs") {
    val file = history.columns("4")
    val b    = EqualTo("b", 1)
    assert(file.stored(And(b, Not(IsNull("id")))).contains(And(EqualTo("a", 1), Not(IsNull("id")))))
    for (
      filter <- Seq(EqualTo("a", 1), Or(b, EqualTo("a", 1)), Not(IsNull("a")), GreaterThan("s.y", 1), IsNotNull("n"))
    )
      assert(file.stored(filter).isEmpty, filter)
    assert(history.columns("5").stored(EqualTo("a", 1)).contains(EqualTo("a", 1)))
  }

  test("statistics of a column are found by its id, unless its values changed or the file lacks it") {
    assert(Seq("id", "b", "a", "n").map(history.columns("4").measured) == Seq(Some("id"), Some("a"), None, None))
    assert(history.columns("5").measured("a").contains("a"))
    val floats = InternalSchema.initial(ddl("i INT, f FLOAT"))
    val wider  = floats.evolved(ddl("i BIGINT, f DOUBLE"), 5, isExact = true)
    assert(Seq("i", "f").map(SchemaHistory(Seq(wider, floats)).columns("4").measured) == Seq(Some("i"), None))
  }

  test("an instant gets the newest version up to it, and a file before all versions the oldest") {
    val middle   = now.copy(version = 20240102000000000L)
    val versions = SchemaHistory(Seq(now.copy(version = 20240103000000000L), middle, old.copy(version = 3)))
    assert(versions.at("20240102000000000") == middle && versions.at("20240102235959999") == middle)
    assert(versions.at("1").version == 3 && versions.at("").version == 3)
    assert(versions.asOf("20240102120000000").newest == middle)
    assert(versions.asOf("2").newest.version == 3)
    assert(versions.add(versions.newest) == versions)
    assert(versions.add(versions.newest.copy(maxColumnId = 99)).versions.map(_.maxColumnId) == Seq(99,
      middle.maxColumnId, old.maxColumnId))
  }
}
