package io.merganser.spark.source

import org.apache.spark.sql.sources.CreatableRelationProvider
import org.apache.spark.sql.types.DataType

/** A source that takes whole frames and itself says which column types it cannot keep: its error names the remedy. */
trait WholeFrameWriter extends CreatableRelationProvider {
  override def supportsDataType(dataType: DataType): Boolean = true
}
