package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.place.IndexResolver
import io.merganser.table.schema.MetaColumns
import io.merganser.table.settings.KeylessTable
import org.apache.spark.sql.{Column, DataFrame, Row, SparkSession}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/** CALL check_keys(table => … | path => …): keys that are stored more than once, and rows without a key. */
object CheckKeys extends TableProcedure[(Row, Seq[Row])] {
  override val name = "check_keys"

  override val parameters = Seq(
    Parameter.table,
    Parameter("limit", IntegerType, "maximum number of duplicate keys to list", default = Some("20")),
    Parameter.path,
    Parameter.options
  )

  private val duplicate = ResultColumns[Row](
    string("key", _.getString(0)),
    long("rows", _.getLong(1)),
    strings("partitions", _.getSeq[String](2).toSeq)
  )

  override val columns = ResultColumns[(Row, Seq[Row])](
    ResultColumns.ofRows(
      "rows" -> LongType,
      "keys" -> LongType,
      "duplicate_keys" -> LongType,
      "duplicate_rows" -> LongType,
      "null_keys" -> LongType,
      "keys_in_several_partitions" -> LongType
    ).of(_._1),
    nestedSeq("duplicates", duplicate, _._2)
  )

  private val (rowCount, paths, most) = ("_merganser_rows", "_merganser_paths", "_merganser_most")

  override protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[(Row, Seq[Row])] = {
    if (KeylessTable.is(table.config))
      throw MerganserException("DUPLICATES_WITHOUT_KEYS", "table" -> table.config.name)
    val limit    = arguments.limit.get
    val settings = arguments.settings(session, table)
    val isGlobal = IndexResolver.globalKeys(settings.index, table.config).isDefined
    val keys     = perKey(session, table).cache()
    try {
      val isDuplicate                             = !col("is_null") && (if (isGlobal) col(rowCount) else col(most)) > 1
      def total(value: Column, condition: Column) = coalesce(sum(when(condition, value)), lit(0L))
      val sums = keys.agg(
        coalesce(sum(rowCount), lit(0L)),
        total(lit(1L), !col("is_null")),
        total(lit(1L), isDuplicate),
        total(col(rowCount), isDuplicate),
        total(col(rowCount), col("is_null")),
        total(lit(1L), !col("is_null") && size(col(paths)) > 1)
      ).head()
      val shown = keys.where(isDuplicate).orderBy(col(rowCount).desc, col("key")).limit(limit)
        .select("key", rowCount, paths).collect()
      Seq((sums, shown.toSeq))
    } finally { keys.unpersist(); () }
  }

  /** A row for each key: as a string, whether it is null, its rows, the most in a partition, and the partitions. */
  private def perKey(session: SparkSession, table: OpenTable): DataFrame = {
    val fields                      = table.config.recordKeyFields
    def text(field: String): Column = coalesce(col(field).cast(StringType), lit("null"))
    // Two times of a repeated hour are one string.
    val ids = if (table.config.storesKeys) Seq(col(MetaColumns.RecordKey)) else fields.map(col)
    val key =
      if (table.config.storesKeys) ids.head
      else if (fields.size == 1) text(fields.head)
      else concat_ws(",", fields.map(field => concat(lit(s"$field:"), text(field))): _*)
    val path =
      if (table.config.storesKeys) col(MetaColumns.PartitionPath)
      else concat_ws("/", table.config.partitionFields.map(col(_).cast(StringType)): _*)
    val rows = session.read.format("merganser").load(table.storage.basePath.toString)
    val id   = struct(ids.zipWithIndex.map { case (column, i) => column.as(s"key_$i") }: _*)
    rows.select(id.as("id"), key.as("key"), fields.map(col(_).isNull).reduce(_ && _).as("is_null"), path.as("path"))
      .groupBy("id", "key", "is_null", "path").agg(count(lit(1)).as("in_path"))
      .groupBy("id", "key", "is_null").agg(sum("in_path").as(rowCount), max("in_path").as(most),
        sort_array(collect_list("path")).as(paths))
  }
}
