package io.merganser.spark.frame

import io.merganser.merge.{Json, MerganserException}
import io.merganser.table.options.Names.lower

/** `partitionBy` of a writer, as the equivalent option. */
private[spark] object PartitionBy {
  private val Sparks = "__partition_columns"
  private val Ours   = "hoodie.datasource.write.partitionpath.field"

  /**
   * Options of a data-frame writer, among which Spark passes the columns.
   *
   * @throws MerganserException OPTION_CONFLICT if options name other columns
   */
  def asOptions(parameters: Map[String, String]): Map[String, String] =
    asOptions(parameters - Sparks,
      parameters.get(Sparks).toSeq.flatMap(json => Json.readValue(json, classOf[Array[String]]).toSeq))

  /** @throws MerganserException OPTION_CONFLICT if options name other columns */
  def asOptions(parameters: Map[String, String], columns: Seq[String]): Map[String, String] = {
    val rest = parameters.filterNot { case (name, _) => name.equalsIgnoreCase("path") }
    rest.find(_._1.equalsIgnoreCase(Ours)) match {
      case _ if columns.isEmpty => rest
      case None                 => rest + (Ours -> columns.mkString(","))
      case Some((name, value)) =>
        val named = value.split(',').map(_.trim.takeWhile(_ != ':')).toSeq
        if (named.map(lower) != columns.map(lower))
          throw MerganserException("OPTION_CONFLICT", "key" -> name, "value" -> value, "otherKey" -> "partitionBy",
            "otherValue" -> columns.mkString(","))
        rest
    }
  }
}
