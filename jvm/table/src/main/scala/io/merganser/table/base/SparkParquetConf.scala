package io.merganser.table.base

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport

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

  /** A copy with these settings. Hadoop's context of a task takes this class as it is, and copies others once more. */
  def apply(conf: Configuration): JobConf = withSettings(new JobConf(conf))

  private def withSettings[C <: Configuration](conf: C): C = {
    settings.foreach { case (key, value) => conf.set(key, value) }
    conf
  }
}
