package io.merganser.table.timeline

import io.merganser.table.TableSuite
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.commit.{Creation, Transaction}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import org.apache.spark.sql.types.StructType

final class CommitSchemaSuite extends TableSuite {

  private def begin(storage: Storage): Transaction =
    Transaction.begin(storage, TableConfig.load(storage), Action.Commit)

  private def commit(
      transaction: Transaction,
      columns: String,
      operation: OperationType = OperationType.Upsert
  ): Instant =
    transaction.commit(
      CommitMetadata(operation, Map.empty,
        Map("schema" -> AvroSchemas.toAvro(StructType.fromDDL(columns), "t").toString)),
      Set.empty)

  private def columns(storage: Storage): StructType =
    AvroSchemas.toSpark(AvroSchemas.parse(Timeline.load(storage, TableConfig.load(storage)).tableSchemaJson.get))

  private def begun(start: String)(writers: Int): (Storage, Seq[Transaction]) = {
    val s = storage
    table(storage = s)
    commit(begin(s), start)
    (s, Seq.fill(writers)(begin(s)))
  }

  test("concurrent writers that add different columns keep all of them") {
    val (s, Seq(first, second, third)) = (begun("id INT, v INT")(3): @unchecked)
    commit(first, "id INT, v INT, a INT")
    commit(second, "id INT, v INT, b STRING")
    commit(third, "id INT, v BIGINT")
    assert(columns(s) == StructType.fromDDL("id INT, v BIGINT, a INT, b STRING"))
  }

  test("a writer that changes no column keeps columns added and widened while it ran") {
    val (s, Seq(first, second)) = (begun("id INT, s STRUCT<x: INT>")(2): @unchecked)
    commit(first, "id INT, s STRUCT<x: BIGINT, y: INT>, a INT")
    commit(second, "id INT, s STRUCT<x: INT>")
    assert(columns(s) == StructType.fromDDL("id INT, s STRUCT<x: BIGINT, y: INT>, a INT"))
  }

  test("a column stays nullable after one of two concurrent writers made it so") {
    val (s, Seq(first, second)) = (begun("id INT NOT NULL, v INT NOT NULL")(2): @unchecked)
    commit(first, "id INT NOT NULL, v INT")
    commit(second, "id INT NOT NULL, v INT NOT NULL, a INT")
    assert(columns(s) == StructType.fromDDL("id INT NOT NULL, v INT, a INT"))
  }

  test("concurrent new columns with one name and incompatible types are a conflict that names them") {
    val (s, Seq(first, second)) = (begun("id INT")(2): @unchecked)
    commit(first, "id INT, a DATE")
    val error = intercept[io.merganser.merge.MerganserException](commit(second, "id INT, a INT"))
    assert(error.condition == "COMMIT_CONFLICT" && Seq("'a'", "date", "int").forall(error.getMessage.contains))
    assert(columns(s) == StructType.fromDDL("id INT, a DATE"))
  }

  test("a write onto columns that another writer replaced meanwhile is a conflict") {
    val (s, Seq(first, second)) = (begun("id INT, v INT")(2): @unchecked)
    commit(first, "id INT, w INT", OperationType.InsertOverwriteTable)
    assert(conditionOf(commit(second, "id INT, v INT")) == "COMMIT_CONFLICT")
    assert(columns(s) == StructType.fromDDL("id INT, w INT"))
  }

  test("a write without concurrent writers may give the table any columns") {
    val (s, Seq(only)) = (begun("id INT, v INT")(1): @unchecked)
    commit(only, "id INT, w INT", OperationType.InsertOverwriteTable)
    assert(columns(s) == StructType.fromDDL("id INT, w INT"))
  }

  test("concurrent new columns with one name, a number and a string, are a conflict") {
    val (s, Seq(first, second)) = (begun("id INT")(2): @unchecked)
    commit(first, "id INT, a INT")
    assert(conditionOf(commit(second, "id INT, a STRING")) == "COMMIT_CONFLICT")
    assert(columns(s) == StructType.fromDDL("id INT, a INT"))
  }

  private def added(storage: Storage): Set[String] = Timeline.load(storage, TableConfig.load(storage)).addedColumns

  /** As a write of ours commits. */
  private def commitListed(transaction: Transaction, columns: String): Instant = {
    val schema = StructType.fromDDL(columns)
    transaction.commit(CommitMetadata(OperationType.Upsert, Map.empty,
        Map("schema" -> AvroSchemas.toAvro(schema, "t").toString) ++ transaction.timeline.listAdded(schema)), Set.empty)
  }

  test("columns missing in the table's creation schema are listed as added, whichever writer added them") {
    val s      = storage
    val schema = AvroSchemas.toAvro(StructType.fromDDL("id INT, v INT"), "t").toString
    Creation.create(s, properties() + ("hoodie.table.create.schema" -> schema))
    assert(added(s).isEmpty)
    commit(begin(s), "id INT, v INT, a INT")
    assert(added(s) == Set("a"))
    commitListed(begin(s), "id INT, v INT, a INT, b INT")
    assert(added(s) == Set("a", "b"))
  }

  test("columns missing in the first commit are listed as added without a creation schema, even after archiving") {
    val s = storage
    table(storage = s)
    assert(added(s).isEmpty)
    val first = commit(begin(s), "id INT, v INT")
    assert(added(s).isEmpty)
    val second = commit(begin(s), "id INT, v INT, a INT")
    commitListed(begin(s), "id INT, v INT, a INT, b INT")
    commit(begin(s), "id INT, v INT, a INT, b INT, c INT")
    assert(added(s) == Set("a", "b", "c"))
    for (
      old <- Seq(first, second); file <- folder.resolve("t/.hoodie/timeline").toFile.listFiles
      if file.getName.startsWith(old.requested)
    )
      file.delete()
    assert(added(s) == Set("a", "b", "c"))
    assert(Timeline.load(s, TableConfig.load(s)).completed.size == 2)
  }

  test("columns added by concurrent writers are all listed as added") {
    val (s, Seq(first, second)) = (begun("id INT")(2): @unchecked)
    commitListed(first, "id INT, a INT")
    commitListed(second, "id INT, b INT")
    assert(added(s) == Set("a", "b"))
  }
}
