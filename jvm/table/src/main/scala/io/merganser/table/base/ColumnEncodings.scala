package io.merganser.table.base

import org.apache.parquet.column.values.ValuesWriter
import org.apache.parquet.column.values.dictionary.DictionaryValuesWriter.PlainFixedLenArrayDictionaryValuesWriter
import org.apache.parquet.column.values.factory.{DefaultV1ValuesWriterFactory, ValuesWriterFactory}
import org.apache.parquet.column.values.fallback.FallbackValuesWriter
import org.apache.parquet.column.{ColumnDescriptor, Encoding, ParquetProperties}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY

import scala.annotation.nowarn

/**
 * Plain values and dictionaries, which every reader can decode: Parquet's encodings of version 1, with dictionaries for
 * decimals too.
 */
private[base] final class ColumnEncodings extends ValuesWriterFactory {
  private[this] val ofVersion1                    = new DefaultV1ValuesWriterFactory
  private[this] var properties: ParquetProperties = _

  override def initialize(properties: ParquetProperties): Unit = {
    this.properties = properties
    ofVersion1.initialize(properties)
  }

  override def newValuesWriter(column: ColumnDescriptor): ValuesWriter = {
    val usual = ofVersion1.newValuesWriter(column)
    val kind  = column.getPrimitiveType
    if (kind.getPrimitiveTypeName != FIXED_LEN_BYTE_ARRAY || !properties.isDictionaryEnabled(column)) usual
    else FallbackValuesWriter.of(new DecimalDictionary(kind.getTypeLength, properties), usual)
  }
}

private[base] object ColumnEncodings {

  /** The name of version 1, for pages and dictionaries. */
  @nowarn("cat=deprecation")
  val Dictionary: Encoding = Encoding.PLAIN_DICTIONARY
}

/** @param length of a value, in bytes */
private final class DecimalDictionary(length: Int, properties: ParquetProperties)
    extends PlainFixedLenArrayDictionaryValuesWriter(properties.getDictionaryPageSizeThreshold, length,
      ColumnEncodings.Dictionary, ColumnEncodings.Dictionary, properties.getAllocator) {

  /** @param rawSize with four bytes for the length of each value, which plain values of a fixed length do not have */
  override def isCompressionSatisfying(rawSize: Long, encodedSize: Long): Boolean =
    super.isCompressionSatisfying(rawSize * length / (length + 4), encodedSize)
}
