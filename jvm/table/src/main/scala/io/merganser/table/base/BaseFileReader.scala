package io.merganser.table.base

import io.merganser.table.schema.{FileColumns, MetaColumns}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapred.FileSplit
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.hadoop.mapreduce.{TaskAttemptContext, TaskAttemptID}
import org.apache.parquet.column.Encoding
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.ParquetRecordReader
import org.apache.parquet.io.SeekableInputStream
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFilters,
  ParquetReadSupport,
  VectorizedParquetRecordReader
}
import org.apache.spark.sql.execution.merganser.RowsToBatches
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

import java.io.{Closeable, FileNotFoundException}
import scala.collection.JavaConverters._

/**
 * What is read of a base file.
 *
 * @param filters skip row groups and, of large ones, pages without a matching row; rows that do not match may be
 *                returned
 * @param start   start of the byte range; row groups are read if their midpoint is in it
 * @param length  length of the range, in bytes
 * @param known   the file's footer, if it was read before
 * @param columns how the columns are stored in the file, if the table has versions of them
 * @param section the section of the file with the rows to read; None: those of its row groups
 * @param missing the error where the file is gone: a clean may remove it while it is read
 * @param input   the file, open: batches have record keys where they are in its pages, if that is possible. Closed with
 *                the reader
 */
final case class BaseReadOptions(
    filters: Seq[Filter] = Nil,
    start: Long = 0L,
    length: Long = Long.MaxValue,
    known: Option[BaseFileFooter] = None,
    columns: Option[FileColumns] = None,
    section: Option[BaseFileSection] = None,
    missing: FileNotFoundException => Exception = identity,
    input: Option[SeekableInputStream] = None
)

/**
 * Reads a base file, or the content of a Parquet log block, with Spark's vectorized reader.
 *
 * Columns are resolved by name. A column that is missing in the file reads as null; one that the table widened since is
 * converted. A reader allows one pass, by row or by batch, and owns open files: close it.
 *
 * @param sizeBytes the file's size
 * @param schema    the columns to read, in any order
 */
final class BaseFileReader(
    conf: Configuration,
    path: Path,
    sizeBytes: Long,
    schema: StructType,
    options: BaseReadOptions = BaseReadOptions()
) extends Closeable {
  import BaseFileReader._
  import options.{columns, filters, input, known, length, missing, section, start}

  lazy val footer: BaseFileFooter = known.getOrElse(BaseFileFooter.read(conf, path, sizeBytes))

  private[this] var open: Closeable = _
  private[this] var keys: PlainKeys = _

  /**
   * @return the rows; the row object is reused: copy rows that you keep
   * @throws io.merganser.merge.MerganserException COLUMN_TYPE_CHANGED
   */
  def rows(): Iterator[InternalRow] = {
    val plan   = readPlan()
    val stored = storedRows(plan)
    plan.conversion.fold(stored) { conversion =>
      val convert = conversion()
      stored.map(convert)
    }
  }

  private def storedRows(plan: ReadPlan): Iterator[InternalRow] =
    if (section.isDefined) rowsOf(plan, named(section.get.read(conf, path, sizeBytes)))
    else if (plan.isVectorized) vectorized(plan).fold(Iterator.empty: Iterator[InternalRow])(rowsOf)
    else rowsOf(byRow(plan))

  /**
   * @return the rows in batches, each valid until the next one is requested
   * @throws io.merganser.merge.MerganserException COLUMN_TYPE_CHANGED
   */
  def batches(): Iterator[ColumnarBatch] = {
    val plan = readPlan()
    if (plan.isVectorized && plan.conversion.isEmpty)
      withPlainKeys(plan).getOrElse(vectorized(plan).fold(Iterator.empty: Iterator[ColumnarBatch])(batchesOf))
    else {
      val stored = storedRows(plan)
      RowsToBatches(plan.conversion.fold(stored)(conversion => stored.map(conversion())), plan.schema, BatchRows)
    }
  }

  override def close(): Unit = {
    if (open != null) {
      open.close()
      open = null
    }
    if (keys != null) keys.close()
    input.foreach(_.close())
  }

  private final class ReadPlan(val stored: StoredColumns, val isVectorized: Boolean) {
    def schema: StructType                                   = stored.requested
    def conversion: Option[() => InternalRow => InternalRow] = stored.conversion

    val predicate: Option[FilterPredicate] = BaseFileReader.this.predicate(stored)
  }

  /** None if there is no input, pages may be skipped, or keys are stored in another form. */
  private def withPlainKeys(plan: ReadPlan): Option[Iterator[ColumnarBatch]] = {
    val at   = plan.schema.fieldNames.indexOf(MetaColumns.RecordKey)
    val from = input.filter(_ => at >= 0 && plan.predicate.isEmpty)
    for {
      file   <- from
      groups <- Some(named(rowGroups(plan)))
      chunks <- PlainKeys.chunksIn(groups, MetaColumns.RecordKey) if chunks.nonEmpty
    } yield {
      val isOptional = footer.schema.getColumnDescription(Array(MetaColumns.RecordKey)).getMaxDefinitionLevel > 0
      keys = new PlainKeys(conf, file, chunks.iterator, isOptional, BatchRows)
      val others = new ReadPlan(storedColumns(StructType(plan.schema.filterNot(_.name == MetaColumns.RecordKey))),
        isVectorized = true)
      batchesOf(vectorized(others, groups)).map { batch =>
        named(keys.next(batch.numRows))
        val columns = Array.tabulate[ColumnVector](plan.schema.length) { i =>
          if (i == at) keys else batch.column(if (i < at) i else i - 1)
        }
        new ColumnarBatch(columns, batch.numRows)
      }
    }
  }

  private def readPlan(): ReadPlan = {
    if (open != null) throw new IllegalStateException(s"'$path' is being read already")
    new ReadPlan(storedColumns(columns.fold(schema)(_.stored(schema))), section.isEmpty && !usesByteStreamSplit)
  }

  private def storedColumns(requested: StructType): StoredColumns =
    named(StoredColumns(path.getName, footer.schema, requested, columns.isDefined))

  private lazy val rebase: (RebaseSpec, RebaseSpec) = {
    val lookup = (key: String) => footer.keyValues.getOrElse(key, null)
    (DataSourceUtils.datetimeRebaseSpec(lookup, Corrected), DataSourceUtils.int96RebaseSpec(lookup, Corrected))
  }

  /** None if no row group may have a row; the file is then not opened again. */
  private def vectorized(plan: ReadPlan): Option[VectorizedParquetRecordReader] = {
    val groups = named(rowGroups(plan))
    if (groups.getBlocks.isEmpty) None else Some(vectorized(plan, groups))
  }

  private def vectorized(plan: ReadPlan, groups: ParquetMetadata): VectorizedParquetRecordReader = {
    val (dates, int96) = rebase
    val reader = new VectorizedParquetRecordReader(
      null,
      dates.mode.toString,
      dates.timeZone,
      int96.mode.toString,
      int96.timeZone,
      false,
      BatchRows
    )
    open = reader
    // The indexes of small row groups take more reads than they save, and their statistics have been checked.
    val isSmall          = groups.getBlocks.asScala.forall(_.getCompressedSize <= SmallBytes)
    val (split, context) = splitOf(plan, if (isSmall) None else plan.predicate)
    named(ReaderStart(reader, split, context, groups))
    reader.initBatch(new StructType(), InternalRow.empty)
    reader.enableReturningBatches()
    reader
  }

  private def byRow(plan: ReadPlan): ParquetRecordReader[InternalRow] = {
    val (dates, int96) = rebase
    val reader         = new ParquetRecordReader[InternalRow](new ParquetReadSupport(None, false, dates, int96))
    open = reader
    val (split, context) = splitOf(plan, plan.predicate)
    named(reader.initialize(split, context))
    reader
  }

  private def splitOf(plan: ReadPlan, filter: Option[FilterPredicate]): (FileSplit, TaskAttemptContext) = {
    val readConf = SparkParquetConf.ofThread(conf)
    readConf.set(plan.stored.readSchema, filter)
    val split = new FileSplit(path, start, Math.min(length, sizeBytes - start), Array.empty[String])
    (split, new TaskAttemptContextImpl(readConf.entries, new TaskAttemptID()))
  }

  /** The footer with the row groups of the range that may have a row, by the statistics in it. */
  private def rowGroups(plan: ReadPlan): ParquetMetadata = {
    def isIn(block: BlockMetaData) = {
      val middle = BaseFileFooter.middle(block)
      start <= middle && middle - start < length
    }
    val filter                         = plan.predicate.map(LogicalInverseRewriter.rewrite)
    def mayMatch(block: BlockMetaData) = filter.forall(!StatisticsFilter.canDrop(_, block.getColumns))
    val kept = footer.metadata.getBlocks.asScala.filter(block => isIn(block) && mayMatch(block))
    new ParquetMetadata(footer.metadata.getFileMetaData, kept.asJava)
  }

  private def named[T](read: => T): T =
    try BaseFileFooter.named(path, sizeBytes)(read)
    catch { case e: FileNotFoundException => throw missing(e) }

  private def predicate(stored: StoredColumns): Option[FilterPredicate] = {
    val named  = columns.fold(filters)(c => filters.flatMap(c.stored(_)))
    val usable = named.filter(_.references.forall(column => !stored.isConverted(column)))
    if (usable.isEmpty) None
    else {
      val translate = new ParquetFilters(footer.schema, true, true, true, true, 10, true, rebase._1)
      usable.flatMap(translate.createFilter).reduceOption(FilterApi.and(_, _))
    }
  }

  /** BYTE_STREAM_SPLIT is not supported by the vectorized reader of some Spark versions. */
  private def usesByteStreamSplit: Boolean = footer.metadata.getBlocks.asScala.exists(
    _.getColumns.asScala.exists(_.getEncodings.contains(Encoding.BYTE_STREAM_SPLIT))
  )

  private def batchesOf(reader: VectorizedParquetRecordReader): Iterator[ColumnarBatch] = new Iterator[ColumnarBatch] {
    private[this] var isReady = false
    private[this] var isDone  = false

    override def hasNext: Boolean = {
      if (!isReady && !isDone) {
        isReady = named(reader.nextBatch())
        isDone = !isReady
      }
      isReady
    }

    override def next(): ColumnarBatch = {
      if (!hasNext) throw new NoSuchElementException
      isReady = false
      reader.resultBatch()
    }
  }

  private def rowsOf(reader: VectorizedParquetRecordReader): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] var batch: ColumnarBatch = _
    private[this] var rowCount             = 0
    private[this] var position             = 0

    override def hasNext: Boolean = {
      while (position >= rowCount) {
        if (!named(reader.nextBatch())) return false
        batch = reader.resultBatch()
        rowCount = batch.numRows
        position = 0
      }
      true
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      val row = batch.getRow(position)
      position += 1
      row
    }
  }

  /** Rows of a Parquet file in memory: few, so that they are read in less time than column vectors are allocated. */
  private def rowsOf(plan: ReadPlan, content: Array[Byte]): Iterator[InternalRow] = {
    val (dates, int96) = rebase
    val readConf       = SparkParquetConf.ofThread(conf)
    readConf.set(plan.stored.readSchema, None)
    val support = new ParquetReadSupport(None, false, dates, int96)
    val reader  = named(new MemoryRows(content, support, readConf.entries))
    open = reader
    new Iterator[InternalRow] {
      override def hasNext: Boolean    = reader.hasNext
      override def next(): InternalRow = named(reader.next())
    }
  }

  private def rowsOf(reader: ParquetRecordReader[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] var isReady = false
    private[this] var isDone  = false

    override def hasNext: Boolean = {
      if (!isReady && !isDone) {
        isReady = named(reader.nextKeyValue())
        isDone = !isReady
      }
      isReady
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException
      isReady = false
      reader.getCurrentValue
    }
  }
}

private object BaseFileReader {
  private val BatchRows = 4096

  /** In row groups up to this size, dictionaries and indexes of pages take more bytes than they save. */
  private val SmallBytes = 1L << 20

  /** Reads dates as written, without rebasing to another calendar. */
  private val Corrected = "CORRECTED"
}
