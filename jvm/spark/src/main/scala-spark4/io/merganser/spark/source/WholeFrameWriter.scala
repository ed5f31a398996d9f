package io.merganser.spark.source

import org.apache.spark.sql.sources.CreatableRelationProvider
import org.apache.spark.sql.types.DataType

/** A source that writes whole frames and reports unsupported column types itself: its error names the remedy. */
trait WholeFrameWriter extends CreatableRelationProvider {
  override def supportsDataType(dataType: DataType): Boolean = true
}
