package io.merganser.table.options

import io.merganser.table.options.Names.lower

/** Options of other table formats and of Spark's file formats, which a migrated job may set: refused with a remedy. */
object OtherFormats {

  /** @param remedy what has the same effect here, a sentence without its full stop */
  final case class Word(key: String, format: String, remedy: String)

  private val asOf =
    "Use as.of.instant with an instant of the timeline (CALL show_timeline, or Table.history() in Python), or SQL's " +
      "VERSION AS OF"
  private val asOfDay = "Use as.of.instant with the time, or SQL's TIMESTAMP AS OF"
  private val changes =
    "Use hoodie.datasource.query.type=incremental with hoodie.datasource.read.begin.instanttime, or Table.changes()"
  private val changeFeed =
    "Use hoodie.datasource.query.type=incremental with hoodie.datasource.query.incremental.format=cdc, or " +
      "Table.change_data()"
  private val where   = "Use df.writeTo(name).overwrite(condition) with a condition on partition columns"
  private val dynamic = "Use hoodie.datasource.overwrite.mode=DYNAMIC, or df.writeTo(name).overwritePartitions()"
  private val columns =
    "Leave it out: new columns and wider types of a frame are accepted unless spark.merganser.write.schemaEvolution " +
      "is false"
  private val size = "Use hoodie.parquet.max.file.size, in bytes"
  private val commit =
    "Options whose name begins with '_' go into the commit's metadata; " +
      "hoodie.datasource.write.commitmeta.key.prefix sets the prefix"

  val words: Seq[Word] = Seq(
    Word("versionAsOf", "Delta Lake", asOf), Word("timestampAsOf", "Delta Lake", asOfDay),
    Word("mergeSchema", "Delta Lake", columns),
    Word("overwriteSchema", "Delta Lake",
      "Use df.writeTo(name).createOrReplace(), or CREATE OR REPLACE TABLE … AS SELECT"),
    Word("replaceWhere", "Delta Lake", where),
    Word("readChangeFeed", "Delta Lake", changeFeed), Word("readChangeData", "Delta Lake", changeFeed),
    Word("startingVersion", "Delta Lake", changes), Word("startingTimestamp", "Delta Lake", changes),
    Word("userMetadata", "Delta Lake", commit),
    Word("optimizeWrite", "Delta Lake", size), Word("dataChange", "Delta Lake", "Leave it out"),
    Word("snapshot-id", "Apache Iceberg", asOf), Word("as-of-timestamp", "Apache Iceberg", asOfDay),
    Word("start-snapshot-id", "Apache Iceberg", changes), Word("merge-schema", "Apache Iceberg", columns),
    Word("overwrite-mode", "Apache Iceberg", dynamic), Word("target-file-size-bytes", "Apache Iceberg", size),
    Word("maxRecordsPerFile", "Spark's file formats", size),
    Word("compression", "Spark's file formats", "Use hoodie.parquet.compression.codec"),
    Word("header", "Spark's file formats", "Leave it out: the table defines the columns"),
    Word("inferSchema", "Spark's file formats", "Leave it out: the table defines the columns")
  )

  private val byName: Map[String, Word] = words.map(w => lower(w.key) -> w).toMap

  private[table] def word(lowerKey: String): Option[Word] = byName.get(lowerKey)

  /** Our option whose last part is the key: `missingColumns` for `spark.merganser.write.missingColumns`. */
  private[table] def shortened(lowerKey: String): Option[String] =
    Options.all.map(_.key).find(k => lower(k).startsWith("spark.merganser.") && lower(k).endsWith("." + lowerKey))
}
