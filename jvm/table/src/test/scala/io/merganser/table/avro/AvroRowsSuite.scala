package io.merganser.table.avro

import io.merganser.merge.MerganserException
import io.merganser.table.Rows
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericDatumReader, GenericDatumWriter, GenericRecord}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import java.io.{ByteArrayOutputStream, EOFException}
import scala.util.Random

class AvroRowsSuite extends AnyFunSuite {

  private def encode(row: InternalRow, from: StructType, to: Schema): Array[Byte] = {
    val out = new AvroOutput(1)
    new AvroRowWriter(from, to).write(row, out)
    out.toByteArray
  }

  private def decode(bytes: Array[Byte], from: Schema, to: StructType): Seq[Any] =
    Rows.plain(new AvroRowReader(from, to, "test").read(new AvroInput().reset(bytes, 0, bytes.length)), to)

  /** Writes with Avro's own encoder. */
  private def avro(json: String)(fields: (String, Any)*): (Schema, Array[Byte]) = {
    val schema = AvroSchemas.parse(json)
    val record = new GenericData.Record(schema)
    fields.foreach { case (name, value) => record.put(name, value) }
    val out     = new ByteArrayOutputStream()
    val encoder = EncoderFactory.get.binaryEncoder(out, null)
    new GenericDatumWriter[GenericRecord](schema).write(record, encoder)
    encoder.flush()
    (schema, out.toByteArray)
  }

  private def one(json: String, value: Any, to: DataType): Any = {
    val (schema, bytes) = avro(s"""{"type":"record","name":"r","fields":[{"name":"v","type":$json}]}""")("v" -> value)
    decode(bytes, schema, new StructType().add("v", to)).head
  }

  test("random rows of every type are read back, and Avro's own reader consumes the same bytes") {
    val seed   = System.nanoTime()
    val random = new Random(seed)
    val schema = Rows.everyType
    val avro   = AvroSchemas.toAvro(schema, "t")
    val writer = new AvroRowWriter(schema, avro)
    val reader = new AvroRowReader(avro, schema, "test")
    val out    = new AvroOutput(4)
    withClue(s"seed $seed: ") {
      (1 to 500).foreach { _ =>
        val row = Rows.random(schema, random)
        out.clear()
        writer.write(row, out)
        val bytes = out.toByteArray
        assert(Rows.plain(reader.read(new AvroInput().reset(bytes, 0, bytes.length)), schema) == Rows.plain(row,
          schema))
        val decoder = DecoderFactory.get.binaryDecoder(bytes, null)
        val record  = new GenericDatumReader[GenericRecord](avro).read(null, decoder)
        assert(decoder.isEnd)
        if (!row.isNullAt(10)) assert(record.get("string_").toString == row.getUTF8String(10).toString)
      }
    }
  }

  test("a copied row keeps its values when the next is read") {
    val schema = Rows.everyType
    val avro   = AvroSchemas.toAvro(schema, "t")
    val reader = new AvroRowReader(avro, schema, "test")
    val rows   = Seq.fill(20)(Rows.random(schema, new Random(7)))
    val buffer = new Array[Byte](1 << 16)
    val copies = rows.map { row =>
      val bytes = encode(row, schema, avro)
      System.arraycopy(bytes, 0, buffer, 0, bytes.length)
      reader.read(new AvroInput().reset(buffer, 0, bytes.length)).copy()
    }
    java.util.Arrays.fill(buffer, 0.toByte)
    assert(copies.map(Rows.plain(_, schema)) == rows.map(Rows.plain(_, schema)))
  }

  test("columns are matched by name in any order, and missing ones are null and not provided") {
    val schema  = Rows.everyType
    val avro    = AvroSchemas.toAvro(schema, "t")
    val random  = new Random(3)
    val request = StructType(Seq(schema("map_"), StructField("gone", StringType), schema("int_"), schema("structs")))
    val reader  = new AvroRowReader(avro, request, "test")
    assert(reader.provided.toSeq == Seq(true, false, true, true))
    (1 to 100).foreach { _ =>
      val row      = Rows.random(schema, random)
      val expected = Rows.plain(row, schema)
      val place    = schema.fieldNames.indexOf(_: String)
      assert(decode(encode(row, schema, avro), avro, request) ==
        Seq(expected(place("map_")), null, expected(place("int_")), expected(place("structs"))))
    }
  }

  test("a struct with added and dropped fields is read by name, inside arrays too") {
    val old  = new StructType().add("a", IntegerType).add("b", StringType)
    val now  = new StructType().add("b", StringType).add("c", LongType).add("a", LongType)
    val from = new StructType().add("s", old).add("l", ArrayType(old))
    val to   = new StructType().add("l", ArrayType(now)).add("s", now)
    val row = Rows.row(Rows.row(1, "x"),
      new org.apache.spark.sql.catalyst.util.GenericArrayData(Array[Any](Rows.row(2, "y"), null, Rows.row(3, null))))
    val avro = AvroSchemas.toAvro(from, "t")
    assert(decode(encode(row, from, avro), avro, to) ==
      Seq(Seq(Seq[Any]("y", null, 2L), null, Seq[Any](null, null, 3L)), Seq[Any]("x", null, 1L)))
  }

  test("stored types are widened to the requested ones") {
    assert(one("\"int\"", 7, LongType) == 7L)
    assert(one("\"int\"", 7, ByteType) == 7.toByte)
    assert(one("\"int\"", 7, FloatType) == java.lang.Float.floatToIntBits(7f))
    assert(one("\"int\"", 7, DoubleType) == java.lang.Double.doubleToLongBits(7d))
    assert(one("\"int\"", -7, StringType) == "-7")
    assert(one("\"int\"", -7, DecimalType(12, 2)) == new java.math.BigDecimal("-7.00"))
    assert(one("\"long\"", 1L << 40, StringType) == "1099511627776")
    assert(one("\"long\"", 9L, DoubleType) == java.lang.Double.doubleToLongBits(9d))
    assert(one("\"float\"", 1.5f, DoubleType) == java.lang.Double.doubleToLongBits(1.5))
    assert(one("\"float\"", 1.5f, StringType) == "1.5")
    assert(one("\"double\"", 1e10, StringType) == "1.0E10")
    assert(one("\"string\"", "é", BinaryType) == "é".getBytes("UTF-8").toSeq)
    assert(one("\"bytes\"", java.nio.ByteBuffer.wrap("é".getBytes("UTF-8")), StringType) == "é")
    assert(one("""{"type":"int","logicalType":"date"}""", 19724, StringType) == "2024-01-02")
    assert(one("""{"type":"long","logicalType":"timestamp-millis"}""", -5L, TimestampType) == -5000L)
    assert(one("""{"type":"bytes","logicalType":"decimal","precision":5,"scale":2}""",
      java.nio.ByteBuffer.wrap(Array[Byte](-1, 56)), DecimalType(7, 3)) == new java.math.BigDecimal("-2.000"))
  }

  test("unions are read in either order, and with more than one type where the types fit") {
    assert(one("""["int","null"]""", null, IntegerType) == null)
    assert(one("""["int","null"]""", 4, IntegerType) == 4)
    assert(one("""["null","int"]""", 4, IntegerType) == 4)
    assert(one("""["null","int","long"]""", 4L, LongType) == 4L)
    assert(one("""["null","int","long"]""", 4, LongType) == 4L)
  }

  test("enums are read as strings") {
    val json =
      """{"type":"record","name":"r","fields":[{"name":"v","type":{"type":"enum","name":"e","symbols":["A","B"]}}]}"""
    val e               = AvroSchemas.parse(json)
    val (schema, bytes) = avro(json)("v" -> new GenericData.EnumSymbol(e.getField("v").schema, "B"))
    assert(decode(bytes, schema, new StructType().add("v", StringType)) == Seq("B"))
  }

  test("a type that does not widen is refused by the column's path") {
    val avro = AvroSchemas.toAvro(new StructType().add("s", new StructType().add("v", LongType)), "t")
    val error =
      intercept[MerganserException](new AvroRowReader(avro,
          new StructType().add("s", new StructType().add("v", IntegerType)), "f.log"))
    assert(error.condition == "COLUMN_TYPE_CHANGED" && error.parameters("column") == "s.v" && error.parameters(
      "file") == "f.log")
  }

  test("bytes that end within a record are an error, not a row") {
    val schema = new StructType().add("a", LongType).add("b", StringType).add("c", DoubleType)
    val avro   = AvroSchemas.toAvro(schema, "t")
    val bytes  = encode(Rows.row(123456789L, "text", 1.5), schema, avro)
    (0 until bytes.length).foreach { n =>
      intercept[EOFException](new AvroRowReader(avro, schema, "test").read(new AvroInput().reset(bytes, 0, n)))
    }
  }

  test("null in a column without nulls is an error that names the column") {
    val schema = new StructType().add("s", new StructType().add("v", IntegerType, nullable = false))
    val error =
      intercept[IllegalStateException](encode(Rows.row(Rows.row(null)), schema, AvroSchemas.toAvro(schema, "t")))
    assert(error.getMessage.contains("'s.v'"))
  }

  test("arrays and maps that Avro wrote in several blocks with sizes are read and skipped") {
    val json   = """{"type":"record","name":"r","fields":[{"name":"l","type":{"type":"array","items":"int"}},
      {"name":"m","type":{"type":"map","values":"long"}},{"name":"z","type":"int"}]}"""
    val schema = AvroSchemas.parse(json)
    val record = new GenericData.Record(schema)
    record.put("l", java.util.Arrays.asList((1 to 300).map(Int.box): _*))
    val map = new java.util.TreeMap[String, Long]()
    (1 to 300).foreach(i => map.put(s"k$i", i.toLong))
    record.put("m", map)
    record.put("z", 5)
    val out     = new ByteArrayOutputStream()
    val encoder = new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(out, null)
    new GenericDatumWriter[GenericRecord](schema).write(record, encoder)
    encoder.flush()
    assert(decode(out.toByteArray, schema, new StructType().add("z", IntegerType)) == Seq(5))
    val all = decode(out.toByteArray, schema,
      new StructType().add("z", IntegerType).add("l", ArrayType(IntegerType)).add("m", MapType(StringType, LongType)))
    assert(all == Seq[Any](5, (1 to 300), (1 to 300).map(i => s"k$i" -> i.toLong).toMap))
  }
}
