package io.merganser.spark.source

import org.apache.spark.sql.sources.CreatableRelationProvider

/** A source that takes whole frames and itself says which column types it cannot keep. */
trait WholeFrameWriter extends CreatableRelationProvider
