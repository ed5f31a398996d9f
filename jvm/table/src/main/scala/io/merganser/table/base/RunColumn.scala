// Hot path: one call per row.
package io.merganser.table.base

import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.page.PageWriter
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.values.dictionary.DictionaryValuesWriter.PlainBinaryDictionaryValuesWriter
import org.apache.parquet.column.{ColumnDescriptor, ColumnWriter, Encoding, ParquetProperties}
import org.apache.parquet.io.api.Binary

import java.util.HashMap

/**
 * Writes a string column whose rows have the same value again and again, as commit time, partition path and file name
 * do. Its pages are those of Parquet's own writer of dictionaries. That one hashes each value and compares it with the
 * smallest and the largest one; here that is done once for the rows that follow each other with one object.
 */
private[base] final class RunColumn(column: ColumnDescriptor, pages: PageWriter, properties: ParquetProperties)
    extends ColumnWriter {
  private[this] val level       = column.getMaxDefinitionLevel
  private[this] val limit       = properties.getPageRowCountLimit
  private[this] val repetitions = properties.newRepetitionLevelWriter(column)
  private[this] val definitions = properties.newDefinitionLevelWriter(column)
  private[this] val values      = new RunDictionary(properties)

  private[this] var statistics: Statistics[_] = Statistics.createStats(column.getPrimitiveType)
  private[this] var value: Binary             = _ // of the run; null for missing values
  private[this] var run                       = 0
  private[this] var rows                      = 0 // of the page

  /** @param value not changed afterwards */
  override def write(value: Binary, repetitionLevel: Int, definitionLevel: Int): Unit = add(value)

  override def writeNull(repetitionLevel: Int, definitionLevel: Int): Unit = add(null)

  private def add(next: Binary): Unit = {
    if (next ne value) {
      endRun()
      value = next
    }
    run += 1
    rows += 1
    if (rows == limit) endPage()
  }

  private def endRun(): Unit = if (run > 0) {
    val defined = if (value == null) 0 else level
    var i       = 0
    while (i < run) {
      definitions.writeInteger(defined)
      i += 1
    }
    if (value == null) statistics.incrementNumNulls(run.toLong)
    else {
      values.add(value, run)
      statistics.updateStats(value)
    }
    run = 0
  }

  private def endPage(): Unit = {
    endRun()
    // A reader looks for a dictionary if the page has its encoding, and there is none before the first value.
    val (encoded, encoding) =
      if (values.getDictionarySize > 0) (values.getBytes, values.getEncoding) else (BytesInput.empty, Encoding.PLAIN)
    pages.writePage(BytesInput.concat(repetitions.getBytes, definitions.getBytes, encoded), rows, rows, statistics,
      repetitions.getEncoding, definitions.getEncoding, encoding)
    repetitions.reset()
    definitions.reset()
    values.reset()
    statistics = Statistics.createStats(column.getPrimitiveType)
    rows = 0
  }

  /** Ends the column of the row group. */
  def flush(): Unit = {
    if (rows > 0) endPage()
    val dictionary = values.toDictPageAndClose()
    if (dictionary != null) pages.writeDictionaryPage(dictionary)
  }

  override def close(): Unit = {
    repetitions.close()
    definitions.close()
    values.close()
  }

  override def getBufferedSizeInMemory: Long = pages.getMemSize + 4L * rows

  private def unsupported = new IllegalStateException(s"a value of column ${column.getPath.mkString(".")} is no string")

  override def write(value: Int, repetitionLevel: Int, definitionLevel: Int): Unit     = throw unsupported
  override def write(value: Long, repetitionLevel: Int, definitionLevel: Int): Unit    = throw unsupported
  override def write(value: Boolean, repetitionLevel: Int, definitionLevel: Int): Unit = throw unsupported
  override def write(value: Float, repetitionLevel: Int, definitionLevel: Int): Unit   = throw unsupported
  override def write(value: Double, repetitionLevel: Int, definitionLevel: Int): Unit  = throw unsupported
}

/** A dictionary without a largest size: a file has few commit times, and one path and name. */
private final class RunDictionary(properties: ParquetProperties)
    extends PlainBinaryDictionaryValuesWriter(Int.MaxValue, ColumnEncodings.Dictionary, ColumnEncodings.Dictionary,
      properties.getAllocator) {
  private[this] val ids = new HashMap[Binary, Integer]

  /** Adds a value several times. */
  def add(value: Binary, count: Int): Unit = {
    val known = getDictionarySize
    writeBytes(value)
    if (getDictionarySize > known) ids.put(value, known)
    val id = ids.get(value).intValue
    var i  = 1
    while (i < count) {
      encodedValues.add(id)
      i += 1
    }
  }
}
