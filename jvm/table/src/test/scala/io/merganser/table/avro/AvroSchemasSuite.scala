package io.merganser.table.avro

import io.merganser.merge.MerganserException
import io.merganser.table.Rows
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class AvroSchemasSuite extends AnyFunSuite {

  private def condition(schema: StructType): (String, String) = {
    val error = intercept[MerganserException](AvroSchemas.checkColumns(schema))
    (error.condition, error.parameters("column"))
  }

  test("the record schema has the format's names, namespaces, null unions and logical types") {
    val schema = StructType(Seq(
        StructField("id", LongType, nullable = false),
        StructField("price", DecimalType(10, 2)),
        StructField("at", TimestampType),
        StructField("on", DateType),
        StructField("tags", ArrayType(StringType)),
        StructField("where", StructType(Seq(StructField("x", TimestampNTZType))))
      ))
    val expected =
      """{"type":"record","name":"trips_record","namespace":"hoodie.trips","fields":[
        |{"name":"id","type":"long"},
        |{"name":"price","type":["null",
        |{"type":"fixed","name":"fixed","namespace":"hoodie.trips.trips_record.price","size":5,
        |"logicalType":"decimal","precision":10,"scale":2}],"default":null},
        |{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}],"default":null},
        |{"name":"on","type":["null",{"type":"int","logicalType":"date"}],"default":null},
        |{"name":"tags","type":["null",{"type":"array","items":["null","string"]}],"default":null},
        |{"name":"where","type":["null",
        |{"type":"record","name":"where","namespace":"hoodie.trips.trips_record","fields":[
        |{"name":"x","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}],"default":null}
        |]}],"default":null}
        |]}""".stripMargin.replace("\n", "")
    assert(AvroSchemas.toAvro(schema, "trips").toString == expected)
  }

  test("columns of every type are read back from their Avro schema, byte and short as int") {
    val json = AvroSchemas.toAvro(Rows.everyType, "t").toString
    assert(AvroSchemas.toSpark(AvroSchemas.parse(json)) == AvroSchemas.stored(Rows.everyType))
    assert(AvroSchemas.stored(Rows.everyType)("byte_").dataType == IntegerType)
  }

  test("comments of columns and of fields inside them are stored as docs") {
    val columns = StructType.fromDDL("id INT COMMENT 'the key', s STRUCT<a: INT COMMENT 'inside'>, v STRING")
    assert(AvroSchemas.toAvro(columns, "t").getField("id").doc == "the key")
    assert(AvroSchemas.toSpark(AvroSchemas.parse(AvroSchemas.toAvro(columns, "t").toString)) == columns)
  }

  test("char and varchar are stored as string") {
    val schema = StructType(Seq(StructField("c", CharType(3)), StructField("v", VarcharType(5))))
    assert(AvroSchemas.toSpark(AvroSchemas.toAvro(schema, "t")).map(_.dataType) == Seq(StringType, StringType))
  }

  test("a table name that Avro does not allow is escaped") {
    val schema = AvroSchemas.toAvro(StructType(Seq(StructField("a", IntegerType))), "my-table")
    assert(schema.getFullName == "hoodie.my__table.my__table_record")
  }

  test("maps with other keys, intervals, void and empty structs are refused by the column's path") {
    val nested = StructType(Seq(StructField("s", StructType(Seq(StructField("m", MapType(IntegerType, StringType)))))))
    assert(condition(nested) == (("UNSUPPORTED_TYPE", "s.m")))
    assert(condition(new StructType().add("i", CalendarIntervalType)) == (("UNSUPPORTED_TYPE", "i")))
    assert(condition(new StructType().add("d", DayTimeIntervalType())) == (("UNSUPPORTED_TYPE", "d")))
    assert(condition(new StructType().add("n", NullType)) == (("UNSUPPORTED_TYPE", "n")))
    assert(condition(new StructType().add("a", ArrayType(NullType))) == (("UNSUPPORTED_TYPE", "a.element")))
    assert(condition(new StructType().add("e", new StructType())) == (("UNSUPPORTED_TYPE", "e")))
  }

  test("column names that Avro does not allow are refused, nested ones too") {
    Seq("a b", "1a", "", "a.b", "a-b").foreach { name =>
      assert(condition(new StructType().add(name, IntegerType)) == (("UNSUPPORTED_COLUMN_NAME", name)))
      val nested = new StructType().add("s", new StructType().add(name, IntegerType))
      assert(condition(nested)._1 == "UNSUPPORTED_COLUMN_NAME")
    }
    AvroSchemas.checkColumns(new StructType().add("größe_1", IntegerType).add("_x", IntegerType))
  }

  test("a union of several types and a record within itself have no column type") {
    val union = """{"type":"record","name":"r","fields":[{"name":"u","type":["null","int","string"]}]}"""
    val list  = """{"type":"record","name":"r","fields":[{"name":"next","type":["null","r"]}]}"""
    Seq(union, list).foreach { json =>
      assert(
        intercept[MerganserException](AvroSchemas.toSpark(AvroSchemas.parse(json))).condition == "UNSUPPORTED_TYPE")
    }
  }

  test("a decimal is stored in the fewest bytes for its precision") {
    assert(Seq(1, 2, 3, 9, 10, 18, 19, 38).map(AvroSchemas.bytesForPrecision) == Seq(1, 1, 2, 4, 5, 8, 9, 16))
  }

  test("a schema of columns without nulls keeps defaults other than null") {
    val fields = Seq(""""int", "default": 5""", """"long", "default": 100000""", """"string", "default": "x"""",
      """"boolean", "default": true""", """"double", "default": 1.5""", """"float", "default": 2.5""")
    val json = fields.zipWithIndex.map { case (field, i) => s"""{"name": "c$i", "type": $field}""" }
    val avro = AvroSchemas.parse(
      s"""{"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": [${json.mkString(", ")}]}""")
    assert(AvroSchemas.toAvro(AvroSchemas.toSpark(avro), "t").toString == avro.toString)
    assert(AvroSchemas.toAvro(AvroSchemas.toSpark(avro), "t").getField("c0").defaultVal == 5)
  }
}
