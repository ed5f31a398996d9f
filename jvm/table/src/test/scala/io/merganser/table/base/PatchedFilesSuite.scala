package io.merganser.table.base

import io.merganser.merge.Histories
import io.merganser.table.schema.MetaColumns
import io.merganser.table.{Rows, TempFolder}
import org.apache.hadoop.fs.Path
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.example.data.Group
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.hadoop.example.GroupReadSupport
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.hadoop.{ParquetFileReader, ParquetReader}
import org.apache.parquet.io.api.Binary
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{IntegerType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.nio.file.Files
import scala.collection.JavaConverters._
import scala.util.Random

/** Files that replace others, with copied row groups and columns, beside the same files with all rows encoded. */
class PatchedFilesSuite extends AnyFunSuite with TempFolder {
  import PatchedFilesSuite._

  private def footer(file: Path) = BaseFileFooter.read(conf, file)

  private def sizeOf(file: Path): Long = file.getFileSystem(conf).getFileStatus(file).getLen

  private def write(file: Path, table: Table, replaced: Option[Path])(fill: BaseFileWriter => Unit): Unit = {
    val from = replaced.map { old =>
      ReplacedFile.of(conf, old, sizeOf(old), footer(old), table.schema, table.options)
        .getOrElse(fail(s"$old is not copied"))
    }
    val writer = new BaseFileWriter(conf, file, table.schema, table.options, table.storesKeys, replaced = from.toSeq)
    fill(writer)
    writer.close()
    ()
  }

  private def rowsOf(file: Path, schema: StructType): Seq[Seq[Any]] = {
    val reader = new BaseFileReader(conf, file, sizeOf(file), schema)
    try reader.rows().map(Rows.plain(_, schema)).toList
    finally reader.close()
  }

  /** The rows as Parquet's own reader returns them. */
  private def groupsOf(file: Path, filter: FilterCompat.Filter = FilterCompat.NOOP): Seq[String] = {
    val reader = ParquetReader.builder(new GroupReadSupport, file).withConf(conf).withFilter(filter).build()
    try Iterator.continually(reader.read()).takeWhile(_ != null).map((row: Group) => row.toString).toList
    finally reader.close()
  }

  private def write(table: Table, name: String, events: Seq[Event]): (Path, Path) = {
    val old = path(s"old/$OldName")
    Files.createDirectories(folder.resolve("old"))
    write(old, table, None) { writer =>
      table.rows.indices.foreach(i => pass(writer, table, Inserted(table.stored(i))))
    }
    val (patched, plain) = (path(s"patched/$name"), path(s"plain/$name"))
    Files.createDirectories(folder.resolve("patched"))
    Files.createDirectories(folder.resolve("plain"))
    Seq(patched -> Some(old), plain -> None).foreach { case (file, replaced) =>
      write(file, table, replaced)(writer => events.foreach(pass(writer, table, _)))
    }
    (patched, plain)
  }

  private def pass(writer: BaseFileWriter, table: Table, event: Event): Unit = {
    def track(row: Keyed): Unit = if (!table.storesKeys) writer.track(row.key)
    event match {
      case Kept(row) if writer.keepsByKey => writer.keepKey(row.key)
      case Kept(row)                      => writer.keep(row.row); track(row)
      case Dropped                        => writer.drop()
      case Inserted(row)                  => writer.write(row.row); track(row)
      case Replaced(row, by)              => writer.replace(row.row); writer.write(by.row); track(by)
    }
  }

  /** Number of values, and nulls, least and greatest value of each column; without these if a chunk has none. */
  private def statistics(file: Path): Map[String, (Long, Option[(Long, String)])] =
    footer(file).metadata.getBlocks.asScala.toSeq.flatMap(_.getColumns.asScala).groupBy(_.getPath.toDotString).map {
      case (column, chunks) =>
        val order = chunks.head.getPrimitiveType.comparator[AnyRef]()
        val all   = chunks.map(_.getStatistics)
        val some  = all.filter(_.hasNonNullValue)
        val found =
          // Of a chunk with NaN there are only nulls.
          if (chunks.exists(c => !c.getStatistics.hasNonNullValue && c.getStatistics.getNumNulls < c.getValueCount))
            None
          else if (some.isEmpty) Some((all.map(_.getNumNulls).sum, "none"))
          else {
            val least =
              some.map(_.genericGetMin.asInstanceOf[AnyRef]).reduce((a, b) => if (order.compare(a, b) <= 0) a else b)
            val greatest =
              some.map(_.genericGetMax.asInstanceOf[AnyRef]).reduce((a, b) => if (order.compare(a, b) >= 0) a else b)
            Some((all.map(_.getNumNulls).sum, s"$least to $greatest"))
          }
        column -> ((chunks.map(_.getValueCount).sum, found))
    }

  /** Indexes are in the file, and agree with the chunks. */
  private def checkIndexes(file: Path): Unit = {
    val reader =
      ParquetFileReader.open(HadoopInputFile.fromPath(file, conf), HadoopReadOptions.builder(conf).build())
    try
      reader.getFooter.getBlocks.asScala.foreach { group =>
        group.getColumns.asScala.foreach { chunk =>
          val offsets = reader.readOffsetIndex(chunk)
          val pages   = (0 until offsets.getPageCount)
          assert(pages.map(i => offsets.getCompressedPageSize(i).toLong).sum <= chunk.getTotalSize)
          assert(offsets.getOffset(0) == chunk.getFirstDataPageOffset && offsets.getFirstRowIndex(0) == 0)
          assert(pages.last == 0 || offsets.getFirstRowIndex(pages.last) < group.getRowCount)
          Option(reader.readColumnIndex(chunk)).foreach { index =>
            assert(index.getNullPages.size == offsets.getPageCount)
            if (index.getNullCounts != null && !chunk.getStatistics.isEmpty)
              assert(index.getNullCounts.asScala.map(_.longValue).sum == chunk.getStatistics.getNumNulls)
          }
        }
      }
    finally reader.close()
  }

  private def compare(table: Table, patched: Path, plain: Path): Unit = {
    val expected = rowsOf(plain, table.schema)
    assert(rowsOf(patched, table.schema) == expected)
    if (expected.nonEmpty) assert(groupsOf(patched) == groupsOf(plain))
    val (one, other) = (footer(patched), footer(plain))
    assert(one.keyValues - FooterChecksum.Entry == other.keyValues - FooterChecksum.Entry)
    assert(one.schema == other.schema && one.rowCount == expected.size && other.rowCount == expected.size)
    if (table.storesKeys && expected.nonEmpty) {
      val (of, ofPlain) = (statistics(patched), statistics(plain))
      of.foreach { case (column, (count, found)) =>
        val (plainCount, plainFound) = ofPlain(column)
        assert(count == plainCount, column)
        for (a <- found; b <- plainFound) assert(a == b, s"$column: $a and $b")
        assert(found.isEmpty == plainFound.isEmpty || !MetaColumns.isMeta(column), s"$column: $found and $plainFound")
      }
      new Random(expected.size.toLong).shuffle(expected.map(_(2).toString)).take(5).foreach { key =>
        val filter = FilterCompat.get(FilterApi.eq(FilterApi.binaryColumn(MetaColumns.RecordKey),
            Binary.fromString(key)))
        assert(groupsOf(patched, filter) == groupsOf(plain, filter) && groupsOf(patched, filter).nonEmpty)
      }
    }
    checkIndexes(patched)
  }

  for (part <- 0 until 10)
    test(s"20 random tables have the same rows, statistics and footers as if all rows were encoded, part $part") {
      (0 until 20).foreach { i =>
        val seed   = Histories.seed + part * 20 + i
        val random = new Random(seed)
        withClue(s"seed $seed: ") {
          beforeEach()
          val table            = Table.random(random)
          val (patched, plain) = write(table, NewName, table.events(random))
          compare(table, patched, plain)
          afterEach()
        }
      }
      beforeEach()
    }

  /** The bytes of a column in all row groups. */
  private def chunksOf(file: Path, column: String): Seq[Seq[Byte]] = {
    val bytes = Files.readAllBytes(java.nio.file.Paths.get(file.toUri))
    footer(file).metadata.getBlocks.asScala.toSeq.map { group =>
      val chunk = group.getColumns.asScala.find(_.getPath.toDotString == column).get
      bytes.slice(chunk.getStartingPos.toInt, (chunk.getStartingPos + chunk.getTotalSize).toInt).toSeq
    }
  }

  test("columns and row groups without changes have the bytes of the replaced file") {
    val random = new Random(1)
    val schema = StructType(Seq("a", "b").map(StructField(_, IntegerType)))
    val table = Table(schema, BaseFileOptions(rowGroupBytes = 6000, copiesFromBytes = 0), storesKeys = true,
      IndexedSeq.fill(1000)(Rows.random(schema, random).toSeq(schema)))
    val kept = table.rows.indices.map(table.kept)
    write(table, NewName, kept)
    val groups = footer(path(s"old/$OldName")).metadata.getBlocks.asScala.map(_.getRowCount.toInt)
    assert(groups.size > 3)
    val events = table.rows.indices.map { i =>
      if (i < groups.head && i % 2 == 0) table.replaced(i, Seq(-i, table.rows(i)(1)))
      else if (i == groups.init.sum) Dropped
      else kept(i)
    }
    afterEach()
    beforeEach()
    val (patched, plain) = write(table, NewName, events)
    compare(table, patched, plain)
    val old = path(s"old/$OldName")
    assert(footer(patched).metadata.getBlocks.size == groups.size)
    def same(column: String) = chunksOf(old, column).zip(chunksOf(patched, column)).map { case (a, b) => a == b }
    val inner                = Seq.fill(groups.size - 2)(true)
    assert(same("b") == true +: inner :+ false)
    assert(same("a") == false +: inner :+ false)
    assert(same(MetaColumns.CommitTime) == false +: inner :+ false)
    assert(same(MetaColumns.RecordKey) == true +: inner :+ false)
    assert(same(MetaColumns.FileName).forall(_ == false))
  }

  test("a row that is neither passed nor left out fails the write") {
    val table = Table.random(new Random(7))
    val all   = table.rows.indices.map(table.kept)
    intercept[IllegalStateException](write(table, NewName, all.init))
    afterEach()
    beforeEach()
    intercept[IllegalStateException](write(table, NewName, all :+ all.last))
  }

  test("small, foreign, moved, unsorted and encoded files are not copied") {
    val table      = Table.random(new Random(3)).copy(storesKeys = true)
    val (_, plain) = write(table, NewName, table.rows.indices.map(table.kept))
    def of(options: BaseFileOptions, schema: StructType = table.schema, file: Path = plain) =
      ReplacedFile.of(conf, file, sizeOf(file), footer(file), schema, options)
    assert(of(table.options).isDefined)
    assert(of(table.options.copy(copiesFromBytes = sizeOf(plain) + 1)).isEmpty)
    assert(of(table.options.copy(codec = if (table.options.codec == "gzip") "snappy" else "gzip")).isEmpty)
    assert(of(table.options, table.schema.add("another", StringType)).isEmpty)
    val moved = path("moved.parquet")
    Files.copy(folder.resolve(s"plain/$NewName"), folder.resolve("moved.parquet"))
    assert(of(table.options, file = moved).isEmpty)
  }
}

object PatchedFilesSuite {
  private val OldName = "f_0_001.parquet"
  private val NewName = "f_0_002.parquet"

  /** A row and its key, which the file may not store. */
  final case class Keyed(key: UTF8String, row: InternalRow)

  sealed trait Event
  final case class Kept(row: Keyed) extends Event
  final case class Replaced(row: Keyed, by: Keyed) extends Event
  final case class Inserted(row: Keyed) extends Event
  case object Dropped extends Event

  /** A file and its rows in key order: the data columns of each. */
  final case class Table(data: StructType, options: BaseFileOptions, storesKeys: Boolean, rows: IndexedSeq[Seq[Any]]) {
    val schema: StructType = MetaColumns.before(data)

    /** @param number of the key: even for rows of the file, odd for others */
    def row(number: Int, values: Seq[Any], file: String, commit: String): Keyed = {
      val key  = f"k$number%06d"
      val meta = Seq(commit, s"${commit}_0_$key", key, "p", file)
      Keyed(UTF8String.fromString(key),
        new GenericInternalRow(
          (meta.map(text => if (storesKeys) UTF8String.fromString(text) else null) ++ values).toArray[Any]))
    }

    def stored(i: Int): Keyed = row(2 * i, rows(i), OldName, "001")

    def kept(i: Int): Kept = Kept(row(2 * i, rows(i), NewName, "001"))

    def replaced(i: Int, values: Seq[Any]): Replaced = Replaced(kept(i).row, row(2 * i, values, NewName, "002"))

    private def inserted(number: Int, random: Random): Inserted =
      Inserted(row(number, Rows.random(data, random).toSeq(data), NewName, "002"))

    private def changed(i: Int, columns: Set[Int], random: Random): Seq[Any] = {
      val other = Rows.random(data, random).toSeq(data)
      data.indices.map(c => if (columns(c)) other(c) else rows(i)(c))
    }

    /** What becomes of the rows. */
    def events(random: Random): Seq[Event] = {
      val count = rows.size
      val from  = random.nextInt(count)
      val isTouched: Int => Boolean = random.nextInt(5) match {
        case 0 => _ => false
        case 1 => _ => random.nextInt(20) == 0
        case 2 => _ => random.nextInt(3) > 0
        case 3 => i => i >= from && i <= from + count / 10
        case 4 => i => i == count - 1
      }
      val columns  = data.indices.filter(_ => random.nextInt(3) == 0).toSet
      val late     = columns ++ data.indices.filter(_ => random.nextInt(4) == 0)
      val lateFrom = random.nextInt(count * 2)
      val inserts  = if (random.nextInt(3) == 0) random.nextInt(10) else 0
      val deletes  = if (random.nextInt(3) == 0) random.nextInt(11) else 0
      val all = rows.indices.flatMap { i =>
        if (!isTouched(i)) Seq(kept(i))
        else if (random.nextInt(10) < deletes) Seq(Dropped)
        else if (random.nextInt(10) < inserts) Seq(kept(i), inserted(2 * i + 1, random))
        else Seq(replaced(i, changed(i, if (i < lateFrom) columns else late, random)))
      }
      val end = if (random.nextInt(4) == 0) 1 + random.nextInt(300) else 0
      all ++ Seq.tabulate(end)(i => inserted(2 * (count + i) + 1, random))
    }
  }

  object Table {
    def random(random: Random): Table = {
      val data = StructType(random.shuffle(Rows.everyType.fields.toSeq).take(1 + random.nextInt(8)))
      val options = BaseFileOptions(
        codec = Seq("snappy", "uncompressed", "gzip")(random.nextInt(3)),
        rowGroupBytes = Seq(6000L, 30000L, 1L << 20)(random.nextInt(3)),
        pageBytes = Seq(300, 1 << 16)(random.nextInt(2)),
        dictionary = random.nextInt(4) > 0,
        bloomFilter = if (random.nextBoolean()) Some((1000L, 0.01)) else None,
        copiesFromBytes = 0
      )
      val pool = IndexedSeq.fill(1 + random.nextInt(400))(Rows.random(data, random).toSeq(data))
      Table(data, options, storesKeys = random.nextInt(6) > 0,
        IndexedSeq.fill(1 + random.nextInt(1500))(pool(random.nextInt(pool.size))))
    }
  }
}
