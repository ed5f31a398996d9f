package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.table.options.LayoutStrategy
import io.merganser.table.settings.ClusteringOrder
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** The columns that a clustering sorts by, which may be fields inside of structs. */
private[service] object ClusteringColumns {

  /**
   * The values of the columns.
   *
   * @param columns of the rows, the table's first
   * @param schema  the table's data columns
   * @throws MerganserException CLUSTERING_COLUMN_UNKNOWN, CLUSTERING_COLUMN_UNSUPPORTED
   */
  def of(table: String, order: ClusteringOrder, schema: StructType, columns: Seq[Attribute]): Seq[Expression] =
    order.columns.map { name =>
      val found = value(name, schema, columns).getOrElse(
        throw MerganserException("CLUSTERING_COLUMN_UNKNOWN", "table" -> table, "column" -> name,
          "columns" -> schema.fieldNames.mkString(", ")))
      if (!isSortable(found.dataType, order.strategy))
        throw MerganserException("CLUSTERING_COLUMN_UNSUPPORTED", "table" -> table, "column" -> name,
          "type" -> found.dataType.sql, "strategy" -> order.strategy)
      found
    }

  /** Checks the columns before anything is planned. */
  def check(table: String, order: ClusteringOrder, schema: StructType): Unit = {
    of(table, order, schema, schema.map(f => AttributeReference(f.name, f.dataType, f.nullable)()))
    ()
  }

  private def isSortable(dataType: DataType, strategy: LayoutStrategy): Boolean =
    RowOrdering.isOrderable(dataType) && (strategy == LayoutStrategy.Linear || (dataType match {
      case _: StructType | _: ArrayType | NullType => false
      case _                                       => true
    }))

  /** A column of the name comes before a field inside a struct. */
  private def value(name: String, schema: StructType, columns: Seq[Attribute]): Option[Expression] =
    position(schema, name).map(columns).orElse {
      val parts = name.split('.').toList
      (1 until parts.size).iterator.flatMap { n =>
        val (column, fields) = parts.splitAt(n)
        position(schema, column.mkString(".")).flatMap(at => field(columns(at), fields)).iterator
      }.take(1).toList.headOption
    }

  private def field(of: Expression, names: List[String]): Option[Expression] = (of.dataType, names) match {
    case (_, Nil) => Some(of)
    case (struct: StructType, name :: rest) =>
      position(struct, name).flatMap(at => field(GetStructField(of, at, Some(struct(at).name)), rest))
    case _ => None
  }

  private def position(struct: StructType, name: String): Option[Int] =
    Some(struct.fieldNames.indexOf(name)).filter(_ >= 0).orElse(
      Some(struct.fieldNames.indexWhere(_.equalsIgnoreCase(name))).filter(_ >= 0))
}
