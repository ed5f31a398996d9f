package io.merganser.table.base

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{AvroInput, AvroOutput, AvroRowReader, AvroRowWriter, AvroSchemas, Milliseconds}
import io.merganser.table.schema.MetaColumns
import io.merganser.table.{Rows, TempFolder}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.sources.{Filter, GreaterThan}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.time.Instant

/** Times in milliseconds, as older releases of Hudi labelled them, and as they are written. */
class TimeUnitsSuite extends AnyFunSuite with TempFolder {

  private val millis = 1700000000000L // 2023-11-14T22:13:20Z
  private val micros = millis * 1000

  /** The columns of a table whose schema has a logical type for the times. */
  private def table(logicalType: String): StructType = {
    val time = s"""{"type":"long","logicalType":"$logicalType"}"""
    AvroSchemas.toSpark(AvroSchemas.parse(
        s"""{"type":"record","name":"r","fields":[
         |{"name":"at","type":["null",$time]},
         |{"name":"s","type":["null",{"type":"record","name":"s","fields":[{"name":"at","type":["null",$time]}]}]},
         |{"name":"a","type":["null",{"type":"array","items":["null",$time]}]},
         |{"name":"m","type":["null",{"type":"map","values":["null",$time]}]}]}""".stripMargin))
  }

  /** The same columns as a writer has them. */
  private def columns(time: DataType): StructType = StructType(Seq(StructField("at", time),
      StructField("s", StructType(Seq(StructField("at", time)))), StructField("a", ArrayType(time)),
      StructField("m", MapType(StringType, time))))

  private def row(value: Long): InternalRow = Rows.row(value, Rows.row(value), new GenericArrayData(Array[Any](value)),
    new ArrayBasedMapData(new GenericArrayData(Array[Any](UTF8String.fromString("k"))),
      new GenericArrayData(Array[Any](value))))

  private def plain(value: Long): Seq[Any] = Seq(value, Seq(value), Seq(value), Map("k" -> value))

  private def parquet(written: StructType, value: Long, read: StructType, filters: Seq[Filter] = Nil): Seq[Seq[Any]] = {
    val writer = new BaseFileWriter(conf, path("f.parquet"), written)
    try writer.write(row(value))
    finally writer.close()
    val reader =
      new BaseFileReader(conf, path("f.parquet"), folder.resolve("f.parquet").toFile.length, read,
        BaseReadOptions(filters))
    try reader.rows().map(Rows.plain(_, read)).toList
    finally { reader.close(); folder.resolve("f.parquet").toFile.delete(); () }
  }

  private def avro(written: StructType, value: Long, read: StructType): Seq[Seq[Any]] = {
    val schema = AvroSchemas.toAvro(written, "t")
    val out    = new AvroOutput(1)
    new AvroRowWriter(written, schema).write(row(value), out)
    val bytes = out.toByteArray
    Seq(Rows.plain(new AvroRowReader(schema, read, "log").read(new AvroInput().reset(bytes, 0, bytes.length)), read))
  }

  test("milliseconds labelled as microseconds are read by the table's schema, in files and logs") {
    val read = table("timestamp-millis")
    assert(parquet(columns(TimestampType), millis, read) == Seq(plain(micros)))
    assert(avro(columns(TimestampType), millis, read) == Seq(plain(micros)))
    val inside = StructType(Seq(read("s")))
    assert(parquet(columns(TimestampType), millis, inside) == Seq(Seq(Seq(micros))))
    assert(parquet(columns(TimestampType), millis, read,
      Seq(GreaterThan("at", Instant.parse("2020-01-01T00:00:00Z")))).size == 1)
  }

  test("a table of microseconds reads stored values unchanged") {
    val read = table("timestamp-micros")
    assert(parquet(columns(TimestampType), micros + 7, read) == Seq(plain(micros + 7)))
    assert(avro(columns(TimestampType), micros + 7, read) == Seq(plain(micros + 7)))
  }

  test("plain integers are read as local times in the unit of the table's schema") {
    for ((unit, value) <- Seq("millis" -> millis, "micros" -> micros)) {
      val read = table(s"local-timestamp-$unit")
      assert(parquet(columns(LongType), value, read) == Seq(plain(micros)), unit)
      assert(avro(columns(LongType), value, read) == Seq(plain(micros)), unit)
      val zoned = table(s"timestamp-$unit")
      assert(intercept[MerganserException](parquet(columns(LongType), value, zoned)).condition == "COLUMN_TYPE_CHANGED")
    }
  }

  test("a table of milliseconds is written in milliseconds and keeps its schema") {
    for (
      (name, label) <- Seq("timestamp-millis" -> "TIMESTAMP(MILLIS,true)",
        "local-timestamp-millis" -> "TIMESTAMP(MILLIS,false)")
    ) {
      val schema = table(name)
      assert(AvroSchemas.toAvro(schema, "t").toString.split(s""""$name"""", -1).length == 5, name)
      assert(AvroSchemas.toSpark(AvroSchemas.toAvro(schema, "t")) == schema)
      assert(BaseFileSchema.toParquet(schema).toString.split(java.util.regex.Pattern.quote(label), -1).length == 5)
      assert(parquet(schema, micros, schema) == Seq(plain(micros)), name)
      assert(parquet(schema, -1L, schema) == Seq(plain(-1000L)), name)
      assert(avro(schema, micros, schema) == Seq(plain(micros)), name)
    }
  }

  test("projected columns get the table's units by name, and those of other tables none") {
    val schema = table("timestamp-millis")
    assert(Milliseconds.like(columns(TimestampType), schema) == schema)
    assert(Milliseconds.like(StructType(Seq(StructField("other", TimestampType))), schema).forall(
        !Milliseconds.areIn(_)))
    assert(MetaColumns.ofUser(schema) == columns(TimestampType))
  }
}
