package io.merganser.table.base

import io.merganser.merge.{Histories, MerganserException}
import io.merganser.table.index.BloomFilter
import io.merganser.table.{Rows, TempFolder}
import org.apache.hadoop.fs.FileAlreadyExistsException
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._
import scala.util.Random

class BaseFilesSuite extends AnyFunSuite with TempFolder {

  private val columns = Rows.withMeta("id" -> LongType, "name" -> StringType)

  private def write(
      name: String,
      schema: StructType,
      rows: Iterator[InternalRow],
      options: BaseFileOptions = BaseFileOptions()
  ): BaseFileWritten = {
    val writer = new BaseFileWriter(conf, path(name), schema, options)
    rows.foreach(writer.write)
    writer.close()
  }

  private def reader(
      name: String,
      schema: StructType,
      filters: Seq[Filter] = Nil,
      start: Long = 0L,
      length: Long = Long.MaxValue
  ) =
    new BaseFileReader(conf, path(name), size(name), schema, BaseReadOptions(filters, start, length))

  private def size(name: String): Long = folder.resolve(name).toFile.length

  private def read(name: String, schema: StructType, filters: Seq[Filter] = Nil): Seq[Seq[Any]] = {
    val file = reader(name, schema, filters)
    try file.rows().map(Rows.plain(_, schema)).toList
    finally file.close()
  }

  private def readBatches(name: String, schema: StructType): Seq[Seq[Any]] = {
    val file = reader(name, schema)
    try file.batches().flatMap(_.rowIterator().asScala.map(Rows.plain(_, schema)).toList).toList
    finally file.close()
  }

  private def keyed(keys: Seq[String]): Iterator[InternalRow] =
    keys.iterator.map(key => Rows.stored("001", key, "p", "f.parquet")(key.hashCode.toLong, s"name of $key"))

  test("random rows of every type are read back in rows and in batches") {
    val seed    = Histories.seed
    val rows    = { val random = new Random(seed); Seq.fill(5000)(Rows.random(Rows.everyType, random)) }
    val written = write("f.parquet", Rows.everyType, rows.iterator)
    assert(written.rowCount == 5000 && written.sizeBytes == size("f.parquet") && !written.isSorted)
    withClue(s"seed $seed: ") {
      val expected = rows.map(Rows.plain(_, Rows.everyType))
      assert(read("f.parquet", Rows.everyType) == expected)
      assert(readBatches("f.parquet", Rows.everyType) == expected)
    }
  }

  test("the file's columns have the Parquet types of the format") {
    write("f.parquet", Rows.everyType, Iterator(Rows.random(Rows.everyType, new Random(1))))
    val schema = BaseFileFooter.read(conf, path("f.parquet")).schema.toString
    Seq(
      "optional int32 byte_;",
      "optional fixed_len_byte_array(4) dec9 (DECIMAL(9,2));",
      "optional fixed_len_byte_array(16) dec38 (DECIMAL(38,10));",
      "optional int64 timestamp_ (TIMESTAMP(MICROS,true));",
      "optional int64 ntz (TIMESTAMP(MICROS,false));",
      "optional binary string_ (STRING);",
      "optional group ints (LIST) {\n    repeated group list {\n      optional int32 element;",
      "optional group map_ (MAP) {\n    repeated group key_value {\n" +
        "      required binary key (STRING);\n      optional double value;"
    ).foreach(part => assert(schema.contains(part), schema))
  }

  test("the footer has the key range and is marked sorted if keys came in unsigned byte order") {
    val written = write("a.parquet", columns, keyed(Seq("", "a", "a", "b", "z", "é", "€", "😀")))
    val footer  = BaseFileFooter.read(conf, path("a.parquet"), size("a.parquet"))
    assert(written.isSorted && footer.isSorted && footer.rowCount == 8)
    assert(
      footer.minKey == Some("") && footer.maxKey == Some("😀") && written.minKey == Some("") && written.maxKey == Some(
        "😀"))
    assert(footer.keyValues("merganser.sorted.by.key") == "a.parquet" && !footer.hasDistinctKeys)
    write("b.parquet", columns, keyed(Seq("a", "b", "é")))
    assert(BaseFileFooter.read(conf, path("b.parquet")).hasDistinctKeys)
  }

  test("a file whose rows came out of order is not marked sorted, and still has its key range") {
    val written = write("a.parquet", columns, keyed(Seq("b", "c", "a", "d", "0")))
    val footer  = BaseFileFooter.read(conf, path("a.parquet"))
    assert(!written.isSorted && !footer.isSorted && !footer.keyValues.contains("merganser.sorted.by.key"))
    assert(!footer.hasDistinctKeys)
    assert(footer.minKey == Some("0") && footer.maxKey == Some("d"))
  }

  test("another writer's file does not count as sorted") {
    write("a.parquet", columns, keyed(Seq("a", "b")))
    java.nio.file.Files.move(folder.resolve("a.parquet"), folder.resolve("b.parquet"))
    val moved = BaseFileFooter.read(conf, path("b.parquet"))
    assert(!moved.isSorted && !moved.hasDistinctKeys)
  }

  test("a bloom filter is written on request and contains every key") {
    write("a.parquet", columns, keyed((1 to 100).map(_.toString)), BaseFileOptions(bloomFilter = Some((100L, 0.01))))
    val filter =
      BloomFilter.decode(BaseFileFooter.read(conf, path("a.parquet")).keyValues("org.apache.hudi.bloomfilter"))
    assert(
      (1 to 100).forall(i => filter.mayContain(i.toString)) && !(101 to 200).forall(i => filter.mayContain(i.toString)))
  }

  test("columns are read in the requested order, and missing ones, nested too, are null") {
    val old = new StructType().add("s", new StructType().add("a", IntegerType)).add("x", IntegerType)
    val now = new StructType().add("gone", StringType).add("x", IntegerType)
      .add("s", new StructType().add("b", StringType).add("a", IntegerType)).add("l", ArrayType(IntegerType))
    write("f.parquet", old, Iterator(Rows.row(Rows.row(1), 2), Rows.row(null, null)))
    val expected = Seq(Seq[Any](null, 2, Seq[Any](null, 1), null), Seq(null, null, null, null))
    assert(read("f.parquet", now) == expected && readBatches("f.parquet", now) == expected)
  }

  test("a read of no columns returns every row") {
    write("f.parquet", columns, keyed((1 to 10000).map(_.toString)))
    assert(read("f.parquet", new StructType()).size == 10000)
  }

  test("a widened column is read as the wider type, and filters on it prune nothing") {
    val old = new StructType().add("i", IntegerType).add("f", FloatType).add("d", DateType).add("b", BinaryType)
      .add("s", new StructType().add("i", IntegerType)).add("l", ArrayType(IntegerType))
      .add("c", DecimalType(5, 2)).add("k", StringType)
    val now = new StructType().add("i", LongType).add("f", StringType).add("d", StringType).add("b", StringType)
      .add("s", new StructType().add("i", StringType)).add("l", ArrayType(DoubleType)).add("c", DecimalType(9, 4)).add(
        "k", StringType)
    val list = new org.apache.spark.sql.catalyst.util.GenericArrayData(Array[Any](1, null))
    write("f.parquet", old,
      Iterator(
        Rows.row(7, 1.5f, 19724, "é".getBytes("UTF-8"), Rows.row(3), list, Decimal("1.25"), "k"),
        Rows.row(null, null, null, null, null, null, null, null)
      ))
    val one = java.lang.Double.doubleToLongBits(1.0)
    val expected = Seq(
      Seq[Any](7L, "1.5", "2024-01-02", "é", Seq("3"), Seq[Any](one, null), new java.math.BigDecimal("1.2500"), "k"),
      Seq.fill(8)(null)
    )
    assert(read("f.parquet", now, Seq(EqualTo("i", 7L), EqualTo("f", "1.5"))) == expected)
    assert(readBatches("f.parquet", now) == expected)
  }

  test("a struct without any requested field stays non-null, in arrays and map values too") {
    val inner = new StructType().add("deep", new StructType().add("a", IntegerType))
    val old   = new StructType().add("s", inner).add("l", ArrayType(inner)).add("m", MapType(StringType, inner))
    val next  = new StructType().add("b", LongType)
    val now   = new StructType().add("s", next).add("l", ArrayType(next)).add("m", MapType(StringType, next))
    def list(items: Any*) = new org.apache.spark.sql.catalyst.util.GenericArrayData(items.toArray)
    def map(value: Any) = new org.apache.spark.sql.catalyst.util.ArrayBasedMapData(
      list(org.apache.spark.unsafe.types.UTF8String.fromString("k")), list(value))
    val struct = Rows.row(Rows.row(1))
    write("f.parquet", old,
      Iterator(
        Rows.row(struct, list(struct, null, Rows.row(null)), map(struct)),
        Rows.row(Rows.row(null), list(), map(null)),
        Rows.row(null, null, null)
      ))
    val empty = Seq[Any](null)
    val expected = Seq(
      Seq[Any](empty, Seq[Any](empty, null, empty), Map("k" -> empty)),
      Seq[Any](empty, Nil, Map("k" -> null)),
      Seq[Any](null, null, null)
    )
    assert(read("f.parquet", now) == expected && readBatches("f.parquet", now) == expected)
  }

  test("a filter on a widened or missing nested field loses no row") {
    val old = new StructType().add("s", new StructType().add("i", IntegerType).add("k", IntegerType))
    val now = new StructType().add("s", new StructType().add("i", LongType).add("k", IntegerType).add("n", StringType))
    write("f.parquet", old, Iterator(Rows.row(Rows.row(1, 2)), Rows.row(Rows.row(3, 4))))
    Seq(EqualTo("s.i", 3L), GreaterThan("s.i", 1L << 40), EqualTo("s.n", "x"), IsNull("s.n")).foreach { filter =>
      assert(read("f.parquet", now, Seq(filter)).size == 2, filter)
    }
  }

  test("a column whose stored type does not widen is refused by name") {
    write("f.parquet", new StructType().add("s", new StructType().add("v", LongType)), Iterator(Rows.row(Rows.row(1L))))
    val error = intercept[MerganserException](read("f.parquet",
        new StructType().add("s", new StructType().add("v", IntegerType))))
    assert(error.condition == "COLUMN_TYPE_CHANGED" && error.parameters("column") == "s.v" && error.parameters(
      "file") == "f.parquet")
  }

  test("filters skip row groups without a match, and only those") {
    val keys = (0 until 20000).map(i => f"$i%06d")
    write("f.parquet", columns, keyed(keys), BaseFileOptions(rowGroupBytes = 64 * 1024))
    val some = read("f.parquet", columns, Seq(EqualTo("_hoodie_record_key", "000100")))
    assert(some.exists(_(2) == "000100") && some.size < 20000)
    assert(read("f.parquet", columns, Seq(GreaterThan("_hoodie_record_key", "9"))).isEmpty)
    assert(read("f.parquet", columns, Seq(IsNotNull("nobody"))).size == 20000)
  }

  test("a filter reads only matching pages of large row groups and small ones as a whole") {
    val keys = (0 until 50000).map(i => f"$i%06d")
    def found(name: String, bytes: Int): Int = {
      val random = new Random(1)
      def text() = if (bytes == 0) null else random.alphanumeric.take(bytes).mkString
      write(name, columns, keys.iterator.map(key => Rows.stored("001", key, "p", name)(1L, text())))
      read(name, columns, Seq(EqualTo("_hoodie_record_key", "000100"))).size
    }
    assert(found("small.parquet", 0) == 50000)
    val ofLarge = found("large.parquet", 60)
    assert(ofLarge > 0 && ofLarge < 50000)
  }

  test("a filter or negated filter that no row group satisfies returns no row") {
    write("f.parquet", columns, keyed(Seq("b", "c")))
    assert(read("f.parquet", columns, Seq(EqualTo("_hoodie_record_key", "a"))).isEmpty)
    assert(read("f.parquet", columns, Seq(Not(LessThan("_hoodie_record_key", "d")))).isEmpty)
    assert(read("f.parquet", columns, Seq(Not(LessThan("_hoodie_record_key", "c")))).size == 2)
  }

  test("the ranges of a file together give each row once") {
    val keys = (0 until 20000).map(i => f"$i%06d")
    write("f.parquet", columns, keyed(keys), BaseFileOptions(rowGroupBytes = 64 * 1024))
    val (third, length) = (size("f.parquet") / 3, size("f.parquet"))
    val parts = Seq((0L, third), (third, third), (2 * third, length - 2 * third)).map { case (start, bytes) =>
      val file = reader("f.parquet", columns, Nil, start, bytes)
      try file.rows().map(_.getUTF8String(2).toString).toList
      finally file.close()
    }
    assert(parts.forall(_.nonEmpty) && parts.flatten == keys)
  }

  test("an aborted file is deleted, and an existing file is not overwritten") {
    val writer = new BaseFileWriter(conf, path("f.parquet"), columns)
    keyed(Seq("a")).foreach(writer.write)
    assert(writer.estimatedBytes > 0)
    writer.abort()
    assert(!folder.resolve("f.parquet").toFile.exists)
    write("f.parquet", columns, keyed(Seq("a")))
    intercept[FileAlreadyExistsException](new BaseFileWriter(conf, path("f.parquet"), columns))
  }

  test("dates before the Gregorian calendar are read back, and the footer has the Spark version") {
    val schema = new StructType().add("d", DateType).add("t", TimestampType)
    write("f.parquet", schema, Iterator(Rows.row(-400000, -40000000000000000L)))
    assert(read("f.parquet", schema) == Seq(Seq(-400000, -40000000000000000L)))
    assert(BaseFileFooter.read(conf, path("f.parquet")).keyValues("org.apache.spark.version").matches(
        "\\d+\\.\\d+\\.\\d+.*"))
  }

  test("every codec of Parquet's own can be requested") {
    Seq("gzip", "ZSTD", "uncompressed", "snappy").foreach { codec =>
      write(s"$codec.parquet", columns, keyed(Seq("a", "b")), BaseFileOptions(codec = codec))
      assert(read(s"$codec.parquet", columns).size == 2)
    }
  }

  test("two-level lists of other writers are read like three-level ones") {
    val schema = MessageTypeParser.parseMessageType(
      """message r {
        |  optional group ints (LIST) { repeated int32 array; }
        |  optional group texts (LIST) { repeated binary array (STRING); }
        |  optional group structs (LIST) { repeated group array { optional int32 a; optional binary b (STRING); } }
        |}""".stripMargin
    )
    val rows   = new SimpleGroupFactory(schema)
    val writer = ExampleParquetWriter.builder(path("f.parquet")).withType(schema).build()
    val full   = rows.newGroup()
    full.addGroup("ints").append("array", 1).append("array", 2)
    full.addGroup("texts").append("array", "x").append("array", "y")
    val structs = full.addGroup("structs")
    structs.addGroup("array").append("a", 1).append("b", "one")
    structs.addGroup("array").append("a", 2)
    writer.write(full)
    val empty = rows.newGroup()
    empty.addGroup("ints")
    writer.write(empty)
    writer.close()
    val struct = new StructType().add("a", IntegerType).add("b", StringType)
    val columns = new StructType().add("structs", ArrayType(struct)).add("ints", ArrayType(IntegerType)).add("texts",
      ArrayType(StringType))
    val expected =
      Seq(Seq[Any](Seq(Seq[Any](1, "one"), Seq[Any](2, null)), Seq(1, 2), Seq("x", "y")), Seq(null, Nil, null))
    assert(read("f.parquet", columns) == expected && readBatches("f.parquet", columns) == expected)
  }

  test("a file with an encoding unknown to the vectorized reader is read row by row") {
    val schema = MessageTypeParser.parseMessageType("message r { required double d; optional binary s (STRING); }")
    val rows   = new SimpleGroupFactory(schema)
    val writer =
      ExampleParquetWriter.builder(path("f.parquet")).withType(schema).withDictionaryEncoding(false)
        .withByteStreamSplitEncoding(true).build()
    (1 to 5000).foreach(i => writer.write(rows.newGroup().append("d", i / 4.0).append("s", s"row $i")))
    writer.close()
    val columns  = new StructType().add("s", StringType).add("d", DoubleType)
    val expected = (1 to 5000).map(i => Seq[Any](s"row $i", java.lang.Double.doubleToLongBits(i / 4.0)))
    assert(read("f.parquet", columns) == expected && readBatches("f.parquet", columns) == expected)
  }
}
