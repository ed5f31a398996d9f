package io.merganser.table.log

import io.merganser.merge.{Histories, MerganserException}
import io.merganser.table.Rows
import io.merganser.table.avro.Milliseconds
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import java.nio.file.Files
import scala.util.Random

class DeleteBlocksSuite extends LogFixture {

  test("a delete block of key 2 in partition p with int 0 has the bytes that the reference writes") {
    val log = writer("001")
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), UTF8String.fromString("p"), Array[Any](0))),
      ordering)
    log.close()
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
  }

  test("a decimal ordering value is rescaled to 15 digits after the point") {
    val log    = writer("001")
    val fields = new StructType().add("d", DecimalType(5, 1))
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), null, Array[Any](Decimal("9.5")))), fields)
    log.close()
    val content = hex("00 00 00 03 00 00 00 0F | 02 02 02 32 00 12 0E 21 C0 33 1D 5D C0 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
  }

  test("a delete block keeps an ordering value of 0 apart from none, in the order written") {
    val log = writer("001")
    log.deleteBlock(
      Iterator(
        LogDelete(UTF8String.fromString("a"), UTF8String.fromString("p"), Array[Any](0)),
        LogDelete(UTF8String.fromString("b"), UTF8String.fromString("p"), null),
        LogDelete(UTF8String.fromString("c"), UTF8String.fromString("p"), Array[Any](7))
      ),
      ordering
    )
    log.close()
    assert(scan()._1 == Seq(Deleted("a", "p", Seq(0)), Deleted("b", "p", null), Deleted("c", "p", Seq(7))))
  }

  test("a delete without ordering value is written as the reference's 0, which is read as none") {
    val log = writer("001")
    log.deleteBlock(Iterator(LogDelete(UTF8String.fromString("2"), UTF8String.fromString("p"), null)), ordering)
    log.close()
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    assert(bytesOf(log.name).dropRight(12).takeRight(content.length).toSeq == content.toSeq)
    append(logName("002"), block(1, Seq(0 -> "002"), content))
    assert(scan()._1 == Seq(Deleted("2", "p", null), Deleted("2", "p", null)))
  }

  test("a delete block returns ordering values of every type, alone, together and null") {
    val fields = StructType(Rows.everyType.take(15))
    val seed   = Histories.seed
    val random = new Random(seed)
    withClue(s"seed $seed: ") {
      fields.fields.zipWithIndex.foreach { case (field, i) =>
        val one    = new StructType().add(field)
        val log    = writer(f"$i%03d")
        val values = Seq.fill(20)(Rows.random(one, random).toSeq(one).head)
        log.deleteBlock(values.iterator.map(v => LogDelete(UTF8String.fromString("k"), null, Array[Any](v))), one)
        log.close()
        val sink = new Recorded(one)
        scanner(fields = one).scan(logs.filter(_.instant == f"$i%03d"), one, sink)
        assert(sink.all.toSeq == values.map(v => Deleted("k", "null", Seq(Recorded.comparable(v)))), field.name)
      }
      val log    = writer("900")
      val values = Seq.fill(50)(Rows.random(fields, random))
      log.deleteBlock(values.iterator.map(v => LogDelete(UTF8String.fromString("k"), null, v.toSeq(fields).toArray)),
        fields)
      log.close()
      val sink = new Recorded(fields)
      scanner(fields = fields).scan(logs.filter(_.instant == "900"), fields, sink)
      assert(sink.all.toSeq == values.map(v => Deleted("k", "null", v.toSeq(fields).map(Recorded.comparable))))
    }
  }

  test("ordering values in other Avro wrappers are converted to the field's type") {
    // a delete of key k whose ordering value is the given branch and value
    def content(ordering: String): Array[Byte] = {
      val record = hex("02 02 02 6B 00") ++ hex(ordering) ++ hex("00")
      hex("00 00 00 03 00 00 00") ++ Array(record.length.toByte) ++ record
    }
    def read(dataType: DataType, ordering: String): Any = {
      val name = logName("001")
      Files.deleteIfExists(folder.resolve(s"p/$name"))
      append(name, block(1, Seq(0 -> "001"), content(ordering)))
      val fields = new StructType().add("o", dataType)
      scan(scanner(fields = fields))._1 match {
        case Seq(Deleted("k", _, null))       => null
        case Seq(Deleted("k", _, Seq(value))) => value
        case other                            => fail(other.toString)
      }
    }
    assert(read(LongType, "04 0E") == 7L)
    assert(read(LongType, "04 00") == null)
    assert(read(IntegerType, "06 0E") == 7)
    assert(read(DateType, "10 0E") == 7)
    assert(read(TimestampType, "16 0E") == 7L)
    assert(read(TimestampType, "04 0E") == 7L)
    assert(read(DoubleType, "04 0E") == java.lang.Double.doubleToLongBits(7.0))
    assert(read(StringType, "04 0E") == "7")
    assert(read(DecimalType(10, 2), "04 0E") == Decimal("7.00"))
    assert(read(DecimalType(10, 2), "12 0E 21 C0 33 1D 5D C0 00") == Decimal("9.50"))
    assert(read(DateType, "18 02 02 18 0E 00") == 7)
    assert(read(StringType, "0E 02 78") == "x")
    for (value <- Seq("0E 02 78", "18 02 04 04 0E 04 0E 00"))
      assert(intercept[MerganserException](read(IntegerType, value)).condition == "LOG_BLOCK_UNREADABLE")
  }

  test("a timestamp ordering value stored in milliseconds is read in microseconds") {
    val schema =
      """{"type":"record","name":"r","fields":[{"name":"o",""" +
        """"type":["null",{"type":"long","logicalType":"timestamp-millis"}]}]}"""
    append(logName("001"),
      block(1, Seq(0 -> "001", 2 -> schema), hex("00 00 00 03 00 00 00 08 02 02 02 6B 00 06 0E 00")))
    assert(scan(scanner(fields = new StructType().add("o", TimestampType)))._1 == Seq(Deleted("k", "null", Seq(7000L))))
  }

  test("a table in milliseconds stores timestamp ordering values in milliseconds and reads them back") {
    val field   = Milliseconds.mark(StructField("o", TimestampType))
    val fields  = StructType(Seq(field))
    val written = writer("001", schema = StructType(columns :+ field))
    written.deleteBlock(Iterator(LogDelete(UTF8String.fromString("k"), null, Array[Any](7000L))), fields)
    written.close()
    assert(bytesOf(written.name).containsSlice(hex("02 02 02 6B 00 06 0E").toSeq))
    val schema =
      """{"type":"record","name":"r","fields":[{"name":"o",""" +
        """"type":["null",{"type":"long","logicalType":"timestamp-micros"}]}]}"""
    append(logName("002"),
      block(1, Seq(0 -> "002", 2 -> schema), hex("00 00 00 03 00 00 00 08 02 02 02 6B 00 06 0E 00")))
    val read = Deleted("k", "null", Seq(7000L))
    assert(scan(scanner(fields = fields))._1 == Seq(read, read))
  }
}
