package io.merganser.spark.prune

import io.merganser.spark.write.key.KeyColumns
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.settings.KeyGenerator
import org.apache.spark.sql.sources.{EqualNullSafe, EqualTo, Filter, In}
import org.apache.spark.sql.types._

/** The record keys that filters name by the table's key columns. */
object NamedKeys {

  /** More keys are not looked up: each is compared with the statistics of pages. */
  private val Most = 100

  /**
   * The strings of which one is the record key of every row that satisfies the filters, whichever engine wrote it. None
   * if the filters do not name the values of all key columns, or too many, or if a value may be written in several
   * ways, as a time or a decimal; nor where a user's rule may have changed key columns.
   *
   * @param schema  the table's columns
   * @param filters all of which hold
   */
  def of(config: TableConfig, schema: StructType, filters: Seq[Filter]): Option[Seq[String]] =
    if (!config.storesKeys || config.recordKeyFields.isEmpty || !KeyGenerator.isKnown(config)) None
    else {
      val values = config.recordKeyFields.map(key =>
        schema.find(_.name == key).filter(isPlain).flatMap(field =>
          filters.flatMap(of(field, _)).sortBy(_.size).headOption))
      val count = values.flatten.map(_.size.toLong).product
      if (values.exists(_.isEmpty) || count > Most || StoredRule.isByUser(config)) None
      else {
        val rows = values.flatten.foldLeft(Seq(Seq.empty[String]))((rows, of) => rows.flatMap(row => of.map(row :+ _)))
        Some(rows.flatMap(KeyColumns.forms(config, _)).distinct)
      }
    }

  private def isPlain(field: StructField): Boolean = field.dataType match {
    case StringType | ByteType | ShortType | IntegerType | LongType => true
    case _                                                          => false
  }

  /** The values of the column that the filter allows; None if it is another filter. */
  private def of(field: StructField, filter: Filter): Option[Seq[String]] = filter match {
    case EqualTo(field.name, value) if value != null       => Some(Seq(value.toString))
    case EqualNullSafe(field.name, value) if value != null => Some(Seq(value.toString))
    case In(field.name, values) if values.length <= Most   => Some(values.toSeq.filter(_ != null).map(_.toString))
    case _                                                 => None
  }
}
