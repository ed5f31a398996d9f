package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types.StructType

import java.util.WeakHashMap

/** Configuration of Spark's Parquet classes, so that reads do not depend on session settings. */
private[base] object SparkParquetConf {

  private val settings: Seq[(String, String)] = Seq(
    ParquetInputFormat.READ_SUPPORT_CLASS -> classOf[ParquetReadSupport].getName,
    ParquetInputFormat.PAGE_VERIFY_CHECKSUM_ENABLED -> "true",
    "spark.sql.parquet.binaryAsString" -> "false",
    "spark.sql.parquet.int96AsTimestamp" -> "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled" -> "true",
    "spark.sql.legacy.parquet.nanosAsLong" -> "false",
    "spark.sql.caseSensitive" -> "true",
    "spark.sql.optimizer.nestedSchemaPruning.enabled" -> "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader" -> "true",
    "spark.sql.parquet.fieldId.read.enabled" -> "false",
    "spark.sql.parquet.fieldId.read.ignoreMissing" -> "false",
    "spark.sql.parquet.variant.allowReadingShredded" -> "false",
    "spark.sql.parquet.ignoreVariantAnnotation" -> "false",
    "spark.sql.parquet.annotateVariantLogicalType" -> "false",
    "spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled" -> "false"
  )

  /** Only these settings; must not be modified. */
  val shared: Configuration = withSettings(new Configuration(false))

  /**
   * The entries of a configuration, which nobody changes any more, with these settings: the one of this thread, valid
   * until its next call for the same configuration. Readers read it when they start. To copy the more than a thousand
   * entries for each file would take as long as to read a small one.
   */
  def ofThread(conf: Configuration): FileConf =
    threads.get.computeIfAbsent(conf, c => new FileConf(withSettings(new JobConf(c))))

  private val threads: ThreadLocal[WeakHashMap[Configuration, FileConf]] =
    ThreadLocal.withInitial(() => new WeakHashMap[Configuration, FileConf])

  private def withSettings[C <: Configuration](conf: C): C = {
    settings.foreach { case (key, value) => conf.set(key, value) }
    conf
  }
}

/** A configuration with the entries of one file at a time. Hadoop's context of a task copies it if it is no JobConf. */
private[base] final class FileConf(val entries: JobConf) {
  private[this] var predicate = Option.empty[FilterPredicate]

  /**
   * @param schema the columns to read
   * @param filter skips row groups and pages
   */
  def set(schema: StructType, filter: Option[FilterPredicate]): Unit = {
    entries.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA, schema.json)
    if (filter != predicate) {
      filter match {
        case Some(f) => ParquetInputFormat.setFilterPredicate(entries, f) // serializes it
        case None    => entries.unset(ParquetInputFormat.FILTER_PREDICATE)
      }
      predicate = filter
    }
  }
}
