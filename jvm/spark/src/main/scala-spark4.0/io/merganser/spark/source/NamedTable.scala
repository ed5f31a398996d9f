package io.merganser.spark.source

/** A table that is named by a catalog. */
private[source] object NamedTable {
  def apply(spec: TableSpec): MerganserTable = new MerganserTable(spec)
}
