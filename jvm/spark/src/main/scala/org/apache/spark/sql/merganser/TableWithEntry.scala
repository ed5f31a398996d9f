package org.apache.spark.sql.merganser

import org.apache.spark.sql.connector.catalog.V2TableWithV1Fallback

/** A table with an entry of Spark's older API, by whose location `toTable` writes streams. */
trait TableWithEntry extends V2TableWithV1Fallback
