package io.merganser.table

import io.merganser.merge.{MerganserException, Version}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.{CompiledRule, StoredRule}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.slice.SliceWriter
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

/** Values of every column type, as users' classes see them and return them. */
class RecordValuesSuite extends AnyFunSuite {
  private val columns = StructType(AvroSchemas.stored(Rows.everyType))
  private val layout  = SliceWriter.rowSchema(columns)

  private def table(properties: (String, String)*) = TableConfig(
    Map("hoodie.table.name" -> "t", "hoodie.table.version" -> "9", "hoodie.record.merge.mode" -> "CUSTOM",
      "hoodie.table.ordering.fields" -> "long_,string_") ++ properties)

  private def merged(config: TableConfig, classes: Seq[String], older: InternalRow, newer: InternalRow): InternalRow = {
    val fold                      = CompiledRule(StoredRule.of(config, classes), config, layout).fold("p/group")
    def version(row: InternalRow) = new Version().set(row, isDelete = false, isUnconditional = false)
    fold.merge(version(older), version(newer)).row
  }

  private def row(seed: Long): InternalRow = {
    val data = Rows.random(columns, new Random(seed))
    val meta = Seq("key", "p", s"instant$seed", s"sequence$seed").map(UTF8String.fromString)
    new GenericInternalRow(columns.indices.map(i => data.get(i, columns(i).dataType)).toArray[Any] ++ meta)
  }

  test("a merger that returns every value it reads changes none, of any type") {
    val config = table("hoodie.record.merge.strategy.id" -> UsersClasses.Id)
    for (seed <- 1L to 100L) {
      val (older, newer) = (row(seed), row(-seed))
      val result         = merged(config, Seq(classOf[UsersClasses.Rebuilding].getName), older, newer)
      assert(Rows.plain(result, layout) == Rows.plain(newer, layout), s"seed $seed")
    }
  }

  test("a payload that returns its record changes no value, of any type") {
    val config = table("hoodie.record.merge.strategy.id" -> "00000000-0000-0000-0000-000000000000",
      "hoodie.compaction.payload.class" -> classOf[UsersClasses.Unchanging].getName)
    for (seed <- 1L to 100L) {
      val (older, newer) = (row(seed), row(-seed))
      assert(Rows.plain(merged(config, Nil, older, newer), layout) == Rows.plain(newer, layout), s"seed $seed")
    }
  }

  test("a payload's record that lacks a column is refused by name") {
    val config = table("hoodie.record.merge.strategy.id" -> "00000000-0000-0000-0000-000000000000",
      "hoodie.compaction.payload.class" -> classOf[UsersClasses.Narrowing].getName)
    val error = intercept[MerganserException](merged(config, Nil, row(1), row(2)))
    assert(error.getCause.getMessage.startsWith("the record lacks the column(s) boolean_, byte_"))
  }

  test("a merged row has the newer version's meta columns, whatever the class returns") {
    val config = table("hoodie.record.merge.strategy.id" -> UsersClasses.Id)
    val result = merged(config, Seq(classOf[UsersClasses.Rebuilding].getName), row(1), row(2))
    assert(result.getUTF8String(layout.fieldIndex(MetaColumns.CommitTime)).toString == "instant2")
  }
}
