package io.merganser.table.log

import io.merganser.merge.MerganserException
import io.merganser.table.avro.{AvroInput, AvroRowReader, AvroSchemas}
import io.merganser.table.base.{BaseFileReader, BaseReadOptions}
import io.merganser.table.file.LogFile
import io.merganser.table.storage.Storage
import io.merganser.table.log.LogFormat.{BlockType, Header}
import io.merganser.table.schema.FileColumns
import org.apache.avro.Schema
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.nio.ByteBuffer
import scala.collection.JavaConverters._
import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * Reads the log files of slices: selects and orders the visible blocks and reads their records.
 *
 * @param tableVersion   below 8 a file has blocks of several writes, each visible by its own instant; from 8 on all
 *                       blocks of a file belong to the write in its name
 * @param orderingFields the table's ordering fields with their types, in property order; empty if there are none
 * @param isCompleted    whether the write of that instant was completed
 * @param maxInstant     the newest instant of the view
 * @param columnsOf      how columns are stored in the blocks of an instant, if the table has versions of them
 * @param isWhole        whether one completed commit wrote the file, so that no block may be corrupt: [[LogFileReader]]
 */
final class LogScanner(
    storage: Storage,
    tableVersion: Int,
    orderingFields: StructType,
    isCompleted: String => Boolean,
    maxInstant: String,
    isWhole: LogFile => Boolean,
    columnsOf: String => Option[FileColumns] = _ => None
) {
  private[this] val orderingTypes = orderingFields.fields.map(_.dataType)
  private[this] val schemas       = mutable.Map.empty[String, Schema]

  /**
   * Passes the records of the files to the sink, oldest first.
   *
   * @param logs   the files of one slice in reading order
   * @param schema the columns to read; null where a block lacks one
   * @throws io.merganser.merge.MerganserException LOG_BLOCK_UNREADABLE, COLUMN_TYPE_CHANGED
   */
  def scan(logs: Seq[LogFile], schema: StructType, sink: LogSink): LogScanned = {
    val visible = visibleOf(logs)
    val files   = new OpenLogs
    val found   = files.blocks(visible)
    val blocks  = selected(found)
    val feed    = new Feed(schema, sink)
    var i       = 0
    while (i < blocks.length) {
      val log = blocks(i).log
      files.read(log) { file =>
        while (i < blocks.length && (blocks(i).log eq log)) {
          feed.block(file, blocks(i))
          i += 1
        }
      }
    }
    LogScanned(visible.size, blocks.size, found.map(_._2).sum, feed.records, feed.deletes,
      visible.map(_.sizeBytes).sum, blocks.map(_.instant).distinct)
  }

  /**
   * The visible blocks of the files, which are not read.
   *
   * @param logs the files of one slice in reading order
   */
  def blocks(logs: Seq[LogFile]): LogBlocks = {
    val blocks = selected(new OpenLogs().blocks(visibleOf(logs)))
    LogBlocks(blocks.size, blocks.map(_.instant).distinct, blocks.exists(_.isPartial))
  }

  private def visibleOf(logs: Seq[LogFile]): Seq[LogFile] =
    logs.filter(log => !log.name.endsWith(".cdc") && (tableVersion < 8 || isCompleted(log.instant)))

  private def selected(found: Seq[(Seq[LogBlock], Int)]): IndexedSeq[LogBlock] =
    LogBlockOrder.select(found.flatMap(_._1).filter(counts), maxInstant).toIndexedSeq

  /**
   * The files of a scan. A slice may have thousands, so only one is open at a time. Bytes fetched to find blocks are
   * retained for the first files, up to a fixed amount of memory.
   */
  private final class OpenLogs {
    private[this] val retained      = mutable.Map.empty[LogFile, LogFileReader]
    private[this] val schemaStrings = mutable.Map.empty[String, String]
    private[this] var retainedBytes = 0L

    /**
     * The blocks of the files and the number of corrupt ones. A file of one write whose blocks a later file replaces
     * is not opened: a block without content stands for it.
     */
    def blocks(logs: Seq[LogFile]): Seq[(Seq[LogBlock], Int)] = {
      val replaced = mutable.HashSet.empty[String]
      logs.reverse.map { log =>
        if (log.isOfOneWrite && replaced(log.instant)) (Seq(LogBlock.replaced(log)), 0)
        else {
          val found = blocks(log)
          if (log.instant <= maxInstant) replaced ++= found._1.flatMap(_.compactedInstants)
          found
        }
      }.reverse
    }

    private def blocks(log: LogFile): (Seq[LogBlock], Int) = {
      val file = open(log)
      try {
        val found = file.blocks()
        if (retainedBytes + file.retainedBytes <= LogScanner.RetainedBytes) {
          retainedBytes += file.retainedBytes
          retained.put(log, file)
        }
        found
      } finally file.close()
    }

    def read(log: LogFile)(body: LogFileReader => Unit): Unit = {
      val file = retained.remove(log).getOrElse(open(log))
      try body(file)
      finally file.close()
    }

    private def open(log: LogFile) = new LogFileReader(storage, log, isWhole(log), schemaStrings)
  }

  /** A rollback block has any instant of its time. */
  private def counts(block: LogBlock): Boolean = block.isRollback ||
    ((tableVersion >= 8 || isCompleted(block.instant)) &&
      (block.log.uncounted.isEmpty || !block.log.uncounted(block.instant)))

  private def schemaOf(block: LogBlock): Schema = {
    val json = block.header.getOrElse(Header.Schema, throw block.unreadable("its header has no schema", Restore))
    schemas.getOrElseUpdate(
      json,
      try AvroSchemas.parse(json)
      catch {
        case NonFatal(e) => throw block.unreadable("its schema is no Avro schema", Restore).causedBy(e)
      }
    )
  }

  /** Other writers may omit the schema if there are only keys. */
  private def deleteSchema(block: LogBlock): Option[Schema] =
    if (block.header.contains(Header.Schema)) Some(schemaOf(block)) else None

  private final class Feed(schema: StructType, sink: LogSink) {
    private[this] val readers = mutable.Map.empty[(Schema, Option[FileColumns]), AvroRowReader]
    var records               = 0L
    var deletes               = 0L

    def block(file: LogFileReader, block: LogBlock): Unit = {
      sink.block(block.log, block.instant)
      block.blockType match {
        case BlockType.Avro    => avro(file, block)
        case BlockType.Parquet => parquet(block)
        case BlockType.Delete  => delete(file, block)
        case BlockType.HFile =>
          throw block.unreadable("HFile blocks are not supported", "Rewrite the slice with Avro or Parquet log blocks.")
        case other =>
          throw block.unreadable(s"blocks of type $other are not known",
            "Compact the slice with the engine that wrote it.")
      }
    }

    private def avro(file: LogFileReader, block: LogBlock): Unit = {
      val stored  = schemaOf(block)
      val columns = columnsOf(block.instant)
      val reader = readers.getOrElseUpdate((stored, columns),
        named(block)(new AvroRowReader(stored, columns.fold(schema)(_.stored(schema)), block.log.name,
            columns.isDefined)))
      val provided = if (block.isPartial) reader.provided else null
      val inserts  = block.isPartial && PartialRecords.areInserting(stored)
      val content  = new AvroBlock(file, block)
      var in       = content.next()
      while (in != null) {
        val row =
          try reader.read(in)
          catch {
            case e: MerganserException => throw e
            case NonFatal(e) =>
              throw block.unreadable(s"a record is not of its schema ($e)", Restore).causedBy(e)
          }
        try sink.row(row, provided, inserts)
        catch {
          case e: NullPointerException =>
            throw block.unreadable("a record has no key or ordering value", Restore).causedBy(e)
        }
        records += 1
        in = content.next()
      }
    }

    private def parquet(block: LogBlock): Unit = {
      val columns = columnsOf(block.instant)
      val provided = if (block.isPartial) {
        val stored = schemaOf(block).getFields.asScala.map(_.name).toSet
        columns.fold(schema)(_.stored(schema)).fieldNames.map(stored.contains)
      } else null
      val inserts = block.isPartial && PartialRecords.areInserting(schemaOf(block))
      val reader = new BaseFileReader(
        LogContentFileSystem.conf(storage),
        LogContentFileSystem.path(storage, block),
        block.contentLength,
        schema,
        BaseReadOptions(columns = columns)
      )
      try {
        val rows = reader.rows()
        while (rows.hasNext) {
          sink.row(rows.next(), provided, inserts)
          records += 1
        }
      } catch {
        case e: MerganserException if e.condition == "BASE_FILE_UNREADABLE" =>
          throw block.unreadable(s"its content is not a Parquet file (${e.parameters("reason")})", Restore).causedBy(e)
      } finally reader.close()
    }

    private def delete(file: LogFileReader, block: LogBlock): Unit = {
      if (block.contentLength > Int.MaxValue - 16)
        throw block.unreadable("its content is beyond 2 GB", CompactElsewhere)
      val content = new Array[Byte](block.contentLength.toInt)
      file.read(block.contentOffset, content, 0, content.length)
      if (block.contentChecksum.exists(_ != BlockChecksum.of(content, 0, content.length))) throw block.differs
      val head = ByteBuffer.wrap(content)
      val version =
        if (content.length >= 8) head.getInt else throw block.unreadable("its content is cut short", Restore)
      if (version != LogFormat.ContentVersion)
        throw block.unreadable(s"deletes of version $version are in a form that only old releases wrote",
          CompactElsewhere)
      val length = head.getInt
      if (length != content.length - 8)
        throw block.unreadable(s"its content has ${content.length - 8} bytes instead of $length", Restore)
      val decoder =
        new DeleteRecords.Decoder(orderingTypes, DeleteRecords.areMillis(deleteSchema(block), orderingFields),
          isZeroAbsent = !DeleteRecords.areOrdered(deleteSchema(block)))
      val in = new AvroInput().reset(content, 8, 8 + length)
      try deleteRecords(in, decoder)
      catch {
        case e: MerganserException       => throw e
        case e: IllegalArgumentException => throw block.unreadable(String.valueOf(e.getMessage), CompactElsewhere)
        case NonFatal(e)                 => throw block.unreadable(s"a record is cut short ($e)", Restore).causedBy(e)
      }
      if (!in.isAtEnd) throw block.unreadable("its content does not end with its last record", Restore)
    }

    private def deleteRecords(in: AvroInput, decoder: DeleteRecords.Decoder): Unit = {
      var count = in.readLong()
      while (count != 0) {
        if (count < 0) {
          in.readLong()
          count = -count
        }
        if (count < 0) throw new IllegalArgumentException(s"it has $count records")
        var i = 0L
        while (i < count) {
          val key       = string(in)
          val partition = string(in)
          sink.delete(key, partition, decoder.ordering(in))
          deletes += 1
          i += 1
        }
        count = in.readLong()
      }
    }

    private def string(in: AvroInput): UTF8String = in.readInt() match {
      case 0     => null
      case 1     => in.readString()
      case other => throw new IllegalArgumentException(s"branch $other of a key or partition path is not known")
    }

    /** Errors of a schema that no reader of the columns can be made for, with the block's place. */
    private def named[T](block: LogBlock)(make: => T): T =
      try make
      catch {
        case e: MerganserException => throw e
        case NonFatal(e)           => throw block.unreadable(s"its schema cannot be read ($e)", Restore).causedBy(e)
      }
  }

  private def Restore          = "Restore the file from a copy."
  private def CompactElsewhere = "Compact the slice with the engine that wrote it."
}

private object LogScanner {

  /** Memory for retained bytes of files that are scanned later, in bytes. */
  private val RetainedBytes = 32L << 20
}
