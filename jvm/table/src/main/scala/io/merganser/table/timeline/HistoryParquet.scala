package io.merganser.table.timeline

import io.merganser.table.storage.{Storage, StoredOutput}
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.{ParquetFileWriter, ParquetInputFormat, ParquetReader, ParquetWriter}
import org.apache.parquet.hadoop.api.{ReadSupport, WriteSupport}
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.example.GroupReadSupport
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.api.{Binary, RecordConsumer}
import org.apache.parquet.schema.{LogicalTypeAnnotation, MessageType, Type, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{BINARY, INT32}

/**
 * A completed instant as the history has it.
 *
 * @param metadata content of its completed file, an Avro container
 * @param plan     content of its requested file, of services and replacecommits
 */
private[table] final case class HistoryEntry(
    requested: String,
    completed: Option[String],
    action: Action,
    metadata: Option[Array[Byte]],
    plan: Option[Array[Byte]]
)

/** The Parquet files of the history of layout 2. */
private[timeline] object HistoryParquet {

  val Requested  = "instantTime"
  val Completed  = "completionTime"
  val ActionName = "action"
  val Metadata   = "metadata"
  val Plan       = "plan"

  /** Version of an entry, the only one that there is. */
  private val EntryVersion = 1

  /** Entries have the metadata of whole commits: a row group is buffered in memory. */
  private val RowGroupBytes = 16L * 1024 * 1024

  /** Columns of a file, for a reader. */
  def columns(names: String*): MessageType =
    new MessageType("instants", names.map(c => Types.optional(BINARY).named(c): Type): _*)

  private def text(name: String): Type =
    Types.optional(BINARY).as(LogicalTypeAnnotation.stringType()).named(name)

  private val schema = new MessageType("org.apache.hudi.avro.model.HoodieLSMTimelineInstant", text(Requested),
    text(Completed), text(ActionName), Types.optional(BINARY).named(Metadata), Types.optional(BINARY).named(Plan),
    Types.required(INT32).named("version"))

  /** Other engines' readers take the columns from the Avro schema. */
  private val avroSchema: String = {
    import AvroRecords._
    val fields = Seq(Requested, Completed, ActionName).map(optional(_, Str)) ++
      Seq(Metadata, Plan).map(optional(_, Bytes)) :+ withDefault("version", Int, Integer.valueOf(EntryVersion))
    JavaStrings.of(record("HoodieLSMTimelineInstant", fields: _*)).toString
  }

  /** Writes a file, whether or not there is one; returns its size in bytes. */
  def write(storage: Storage, file: String, entries: Iterator[HistoryEntry]): Long = {
    val path = storage.path(file)
    val writer = new Builder(new StoredOutput(path, storage.conf)).withConf(storage.conf)
      .withWriteMode(ParquetFileWriter.Mode.OVERWRITE).withCompressionCodec(CompressionCodecName.GZIP)
      .withRowGroupSize(RowGroupBytes).withMinRowCountForPageSizeCheck(1).build()
    try entries.foreach(writer.write)
    finally writer.close()
    storage.fs.getFileStatus(path).getLen
  }

  private final class Builder(file: StoredOutput) extends ParquetWriter.Builder[HistoryEntry, Builder](file) {
    override protected def self(): Builder = this

    override protected def getWriteSupport(conf: Configuration): WriteSupport[HistoryEntry] = new Support
  }

  private final class Support extends WriteSupport[HistoryEntry] {
    private var consumer: RecordConsumer = _

    override def getName: String = "avro"

    override def init(conf: Configuration): WriteContext =
      new WriteContext(schema, java.util.Collections.singletonMap("parquet.avro.schema", avroSchema))

    override def prepareForWrite(consumer: RecordConsumer): Unit = this.consumer = consumer

    override def write(entry: HistoryEntry): Unit = {
      def field(index: Int)(value: => Unit): Unit = {
        consumer.startField(schema.getFieldName(index), index)
        value
        consumer.endField(schema.getFieldName(index), index)
      }
      def string(index: Int, value: String): Unit = field(index)(consumer.addBinary(Binary.fromString(value)))
      def bytes(index: Int, value: Array[Byte]): Unit =
        field(index)(consumer.addBinary(Binary.fromConstantByteArray(value)))
      consumer.startMessage()
      string(0, entry.requested)
      entry.completed.foreach(string(1, _))
      string(2, entry.action.name)
      entry.metadata.foreach(bytes(3, _))
      entry.plan.foreach(bytes(4, _))
      field(5)(consumer.addInteger(EntryVersion))
      consumer.endMessage()
    }
  }

  /**
   * Reads rows with some columns, one after the other; close it after use.
   *
   * @throws RuntimeException if the file is gone or has another size than in the manifest
   */
  def reader(storage: Storage, folder: String, file: HistoryFile, columns: MessageType): ParquetReader[Group] = {
    val found = storage.status(s"$folder/${file.name}").map(_.getLen)
    if (found.isEmpty) throw new IllegalArgumentException("it is gone")
    if (file.sizeBytes.exists(_ != found.get))
      throw new IllegalArgumentException(s"it has ${found.get} bytes, ${file.sizeBytes.get} in the manifest")
    val conf = new Configuration(storage.conf)
    conf.setBoolean(ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED, true)
    conf.set(ReadSupport.PARQUET_READ_SCHEMA, columns.toString)
    new Reader(HadoopInputFile.fromPath(storage.path(s"$folder/${file.name}"), conf)).build()
  }

  /** Has the configuration of its file: the builder for a path parses Hadoop's default configuration. */
  private final class Reader(file: HadoopInputFile) extends ParquetReader.Builder[Group](file) {
    override protected def getReadSupport: ReadSupport[Group] = new GroupReadSupport
  }

  def rows(reader: ParquetReader[Group]): Iterator[Group] = Iterator.continually(reader.read()).takeWhile(_ != null)

  def string(row: Group, column: String): Option[String] =
    if (isNull(row, column)) None else Some(row.getString(column, 0))

  def bytes(row: Group, column: String): Option[Array[Byte]] =
    if (isNull(row, column)) None else Some(row.getBinary(column, 0).getBytes)

  private def isNull(row: Group, column: String): Boolean = row.getFieldRepetitionCount(column) == 0
}
