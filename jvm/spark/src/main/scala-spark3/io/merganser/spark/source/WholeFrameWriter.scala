package io.merganser.spark.source

import org.apache.spark.sql.sources.CreatableRelationProvider

/** A source that writes whole frames and reports unsupported column types itself. */
trait WholeFrameWriter extends CreatableRelationProvider
