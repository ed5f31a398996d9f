package io.merganser.table.slice

import io.merganser.merge.Histories
import io.merganser.table.base.{BaseFileReader, BaseFileWriter, BaseReadOptions}
import io.merganser.table.{Rows, TempFolder}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._
import scala.util.Random

/** Rows that are replaced and removed in the batches of a reader. */
final class PatchedBatchSuite extends AnyFunSuite with TempFolder {
  private val flat = StructType(Rows.everyType.filter(field =>
      field.dataType match {
        case _: StructType | _: ArrayType | _: MapType => false
        case _                                         => true
      }))

  /** Some columns are not in the file, as after a change of the schema. */
  private val added  = StructType(flat.map(field => field.copy(name = s"${field.name}more")))
  private val schema = StructType(flat ++ added)
  private val packed = UnsafeProjection.create(schema)

  private def write(name: String, rows: Seq[InternalRow]): Unit = {
    val writer = new BaseFileWriter(conf, path(name), flat)
    rows.foreach(writer.write)
    writer.close()
    ()
  }

  private def batches[T](name: String, columns: StructType)(read: Iterator[ColumnarBatch] => T): T = {
    val file = new BaseFileReader(conf, path(name), folder.resolve(name).toFile.length, columns, BaseReadOptions())
    try read(file.batches())
    finally file.close()
  }

  private def hasDictionary(batch: ColumnarBatch, column: String): Boolean =
    batch.column(schema.fieldIndex(column)).asInstanceOf[WritableColumnVector].hasDictionary

  /** A selection of rows decides once for each id of a dictionary. */
  private def requireOneValueForEachId(batch: ColumnarBatch): Unit =
    for ((field, i) <- schema.zipWithIndex if field.dataType == StringType)
      batch.column(i) match {
        case column: WritableColumnVector if column.hasDictionary =>
          val values = (0 until batch.numRows).filterNot(column.isNullAt).map(row =>
            column.getDictionaryIds.getDictId(row) -> column.getUTF8String(row).toString)
          assert(values.forall(_._1 >= 0) && values.distinct.map(_._1).distinct.size == values.distinct.size)
        case _ => ()
      }

  private def plain(batch: ColumnarBatch): Seq[Seq[Any]] =
    batch.rowIterator().asScala.map(Rows.plain(_, schema)).toList

  /** Rows of a few values, whose columns have dictionaries, or of many. */
  private def rows(random: Random, count: Int, distinct: Int): Seq[InternalRow] = {
    val few = IndexedSeq.fill(distinct)(Rows.random(flat, random))
    Seq.fill(count)(few(random.nextInt(distinct)))
  }

  for (distinct <- Seq(1, 7, 20000))
    test(s"random rows of every flat type are replaced and removed, of $distinct that are stored") {
      val random = new Random(Histories.seed + distinct)
      val all    = rows(random, 6000, distinct)
      write("f.parquet", all)
      val patched = new PatchedBatch(schema)
      val plains  = all.map(Rows.plain(_, flat) ++ Seq.fill(added.length)(null))
      // The reader fills each batch again, whatever was put into the one before.
      for (share <- Seq(0.3, 0.02, 1.0, 0.0)) batches("f.parquet", schema) { batches =>
        var at = 0
        while (batches.hasNext) {
          val batch = batches.next()
          assert(plain(batch) == plains.slice(at, at + batch.numRows))
          if (distinct > 1) assert(hasDictionary(batch, "double_") == distinct < 100)
          val expected = plains.slice(at, at + batch.numRows).map(Option(_)).toArray
          at += batch.numRows
          assert(patched.takes(batch))
          patched.take(batch)
          expected.indices.filter(_ => random.nextDouble() < share).foreach { i =>
            if (random.nextInt(3) == 0) {
              patched.remove(i)
              expected(i) = None
            } else {
              val row = Rows.random(schema, random)
              expected(i) = Some(Rows.plain(row, schema))
              patched.replace(i, if (random.nextBoolean()) row else packed(row))
            }
          }
          val filled = Option(patched.result())
          filled.foreach(requireOneValueForEachId)
          val result = filled.fold(Seq.empty[Seq[Any]])(plain)
          val left   = expected.toSeq.flatten
          assert(result.map(_.toString).sorted == left.map(_.toString).sorted)
          // Rows before the first removed one stay where they are.
          val first = expected.indexWhere(_.isEmpty)
          assert(result.take(first) == left.take(first))
        }
        assert(at == 6000)
      }
    }

  test("a row may be replaced by what refers to it") {
    val random = new Random(Histories.seed)
    write("f.parquet", rows(random, 100, 3))
    batches("f.parquet", schema) { batches =>
      val batch   = batches.next()
      val stored  = plain(batch)
      val patched = new PatchedBatch(schema)
      patched.take(batch)
      (0 until 100 by 2).foreach(i => patched.replace(i, batch.getRow(i)))
      assert(plain(patched.result()) == stored)
    }
  }

  test("all rows of a batch may be removed, and no column may be needed") {
    write("f.parquet", rows(new Random(Histories.seed), 10, 3))
    batches("f.parquet", schema) { batches =>
      val batch   = batches.next()
      val patched = new PatchedBatch(new StructType)
      patched.take(batch)
      patched.replace(3, batch.getRow(3))
      patched.remove(4)
      assert(patched.takes(batch) && patched.result().numRows == 9)
      patched.take(batch)
      (0 until 10).foreach(patched.remove)
      assert(patched.result() == null)
    }
  }

  test("batches with nested columns are not patched") {
    write("f.parquet", rows(new Random(Histories.seed), 10, 3))
    val nested = StructType(flat ++ Rows.everyType.filter(_.name == "ints"))
    batches("f.parquet", nested)(batches => assert(!new PatchedBatch(nested).takes(batches.next())))
  }
}
