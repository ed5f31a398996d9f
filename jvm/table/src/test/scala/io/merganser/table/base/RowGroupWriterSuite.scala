package io.merganser.table.base

import java.io.ByteArrayOutputStream

import io.merganser.merge.Histories
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.MemoryFile
import io.merganser.table.{Rows, TempFolder}
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.{Encoding, ParquetProperties}
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.OutputFile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.JoinedRow
import org.apache.spark.sql.sources.{EqualTo, Filter, GreaterThan}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import scala.annotation.nowarn
import scala.collection.JavaConverters._
import scala.util.Random

class RowGroupWriterSuite extends AnyFunSuite with TempFolder {

  private final class ParquetsOwn(file: OutputFile, support: WriteSupport[InternalRow])
      extends ParquetWriter.Builder[InternalRow, ParquetsOwn](file) {
    override protected def self(): ParquetsOwn                                             = this
    override protected def getWriteSupport(conf: Configuration): WriteSupport[InternalRow] = support
  }

  private def support(schema: StructType) =
    new RowWriteSupport(schema, new KeyTracker(-1, None, None), () => Map("an entry" -> "a value"))

  private def written(write: OutputFile => Unit): Seq[Byte] = {
    val (file, bytes) = (new MemoryFile("f.parquet"), new ByteArrayOutputStream)
    write(file)
    file.writeTo(bytes)
    bytes.toByteArray.toSeq
  }

  private def hasDecimal(dataType: DataType): Boolean = dataType.catalogString.contains("decimal")

  /** Columns of every type but decimals, whose dictionaries Parquet's own writer of version 1 does not make. */
  private def schemaOf(isFlat: Boolean): StructType = {
    val kept = Rows.everyType.filterNot(f => hasDecimal(f.dataType)).filter(f =>
      !isFlat || !Seq("struct", "array", "map").exists(f.dataType.typeName.startsWith))
    StructType(kept :+ StructField("required", LongType, nullable = false))
  }

  private def assertSameBytes(
      schema: StructType,
      rows: Seq[InternalRow],
      groupBytes: Long,
      pageBytes: Int,
      repeated: Set[String]
  ): Unit = {
    val own = written { file =>
      val writer = new ParquetsOwn(file, support(schema)).withConf(conf)
        .withCompressionCodec(CompressionCodecName.SNAPPY).withRowGroupSize(groupBytes).withPageSize(pageBytes).build()
      rows.foreach(writer.write)
      writer.close()
    }
    val ours = written { file =>
      val writer = new RowGroupWriter(conf, file, support(schema), CompressionCodecName.SNAPPY, groupBytes,
        ParquetProperties.builder().withPageSize(pageBytes).withValuesWriterFactory(new ColumnEncodings).build(),
        repeated)
      rows.foreach(writer.write)
      writer.close()
    }
    assert(ours == own)
  }

  for (isFlat <- Seq(true, false); groupBytes <- Seq(20000L, 128L << 20))
    test(s"the file is that of Parquet's own writer, byte by byte (flat $isFlat, row groups of $groupBytes bytes)") {
      val seed   = Histories.seed
      val random = new Random(seed)
      val schema = schemaOf(isFlat)
      withClue(s"seed $seed: ")(assertSameBytes(schema, Seq.fill(4000)(Rows.random(schema, random)), groupBytes, 4096,
          Set.empty))
    }

  test("columns that are written by runs have the same bytes, in several pages, with nulls and old values again") {
    val schema = StructType(MetaColumns.schema ++ schemaOf(isFlat = true))
    val random = new Random(1)
    val rows = (0 until 45000).map { i =>
      val time = if (i % 1000 == 999) null else if (i % 7000 < 300) s"0010${i % 3}" else "00200"
      val data = Rows.random(schemaOf(isFlat = true), random)
      val meta = Rows.row(time, s"00200_0_$i", s"k$i", "p=1", "f1-0_0-1-2_00200.parquet")
      new JoinedRow(meta, data)
    }
    assertSameBytes(schema, rows, 128L << 20, 1 << 20, RowWriteSupport.Repeated)
  }

  test("columns that are written by runs have the same bytes if they have no values") {
    val schema = StructType(MetaColumns.schema ++ schemaOf(isFlat = true))
    val random = new Random(2)
    val rows =
      Seq.fill(100)(new JoinedRow(Rows.row(Seq.fill(5)(null): _*), Rows.random(schemaOf(isFlat = true), random)))
    assertSameBytes(schema, rows, 128L << 20, 1 << 20, RowWriteSupport.Repeated)
  }

  test("a column that is written by runs has values after a page without any") {
    val schema = StructType(MetaColumns.schema.filter(_.name == MetaColumns.FileName))
    val rows   = (0 until 50000).map(i => Rows.row(if (i < 30000) null else "f1-0_0-1-2_00200.parquet"))
    val writer = new BaseFileWriter(conf, path("f.parquet"), schema, BaseFileOptions())
    rows.foreach(writer.write)
    writer.close()
    val file = new BaseFileReader(conf, path("f.parquet"), folder.resolve("f.parquet").toFile.length, schema)
    try assert(file.rows().map(Rows.plain(_, schema)).toList == rows.map(Rows.plain(_, schema)))
    finally file.close()
  }

  private val decimals = StructType(
    Seq("few9" -> DecimalType(9, 2), "few18" -> DecimalType(18, 6), "few38" -> DecimalType(38, 10),
      "many" -> DecimalType(38, 10), "list" -> ArrayType(DecimalType(15, 2))).map { case (name, kind) =>
      StructField(name, kind)
    })

  private def decimal(value: Long, kind: DataType): Decimal = kind match {
    case d: DecimalType =>
      Decimal(new java.math.BigDecimal(java.math.BigInteger.valueOf(value), d.scale), d.precision, d.scale)
    case other => throw new IllegalArgumentException(other.toString)
  }

  private def decimalRow(i: Int): InternalRow = {
    val list = new org.apache.spark.sql.catalyst.util.GenericArrayData(
      Array[Any](decimal(i % 5L, DecimalType(15, 2)), null))
    val values = decimals.fields.take(3).map(f => if (i % 7 == 0) null else decimal(i % 50L - 25, f.dataType))
    Rows.row(values.toSeq ++ Seq(decimal(i * 1000003L, DecimalType(38, 10)), list): _*)
  }

  @nowarn("cat=deprecation")
  private val known = Set(Encoding.PLAIN, Encoding.PLAIN_DICTIONARY, Encoding.RLE, Encoding.BIT_PACKED)

  test("decimals have dictionaries, those with many values none, and come back from rows, batches and filters") {
    val count  = 200000
    val writer = new BaseFileWriter(conf, path("f.parquet"), decimals, BaseFileOptions(rowGroupBytes = 1L << 20))
    (0 until count).foreach(i => writer.write(decimalRow(i)))
    writer.close()
    val chunks = BaseFileFooter.read(conf, path("f.parquet")).metadata.getBlocks.asScala.flatMap(_.getColumns.asScala)
    assert(chunks.size > decimals.length)
    assert(chunks.flatMap(_.getEncodings.asScala).toSet.subsetOf(known))
    def isPlain(column: String) =
      chunks.filter(_.getPath.toArray.head == column).map(_.getEncodings.contains(Encoding.PLAIN)).toSet
    Seq("few9", "few18", "few38", "list").foreach(column => assert(isPlain(column) == Set(false), column))
    assert(isPlain("many") == Set(true))
    val expected = (0 until count).map(i => Rows.plain(decimalRow(i), decimals))
    def read(filters: Seq[Filter], batches: Boolean): Seq[Seq[Any]] = {
      val file = new BaseFileReader(conf, path("f.parquet"), folder.resolve("f.parquet").toFile.length, decimals,
        BaseReadOptions(filters))
      try
        if (batches) file.batches().flatMap(_.rowIterator().asScala.map(Rows.plain(_, decimals)).toList).toList
        else file.rows().map(Rows.plain(_, decimals)).toList
      finally file.close()
    }
    for (batches <- Seq(true, false)) {
      assert(read(Nil, batches) == expected)
      val equal = EqualTo("few9", new java.math.BigDecimal("0.07"))
      assert(read(Seq(equal), batches).count(_.head == equal.value) == expected.count(_.head == equal.value))
      assert(read(Seq(GreaterThan("few18", new java.math.BigDecimal("1.000000"))), batches).isEmpty)
    }
  }
}
