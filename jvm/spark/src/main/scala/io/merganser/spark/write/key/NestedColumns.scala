package io.merganser.spark.write.key

import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.struct

/** Columns made of values whose names may be paths into structs, such as `meta.id`. No column's own name has a dot. */
private[write] object NestedColumns {

  /** A column for each name; the fields of one struct are in one column. */
  def of(values: Seq[(String, Column)]): Seq[Column] = {
    val (nested, plain) = values.partition(_._1.contains('.'))
    val structs = nested.groupBy(_._1.takeWhile(_ != '.')).toSeq.sortBy(_._1).map { case (name, fields) =>
      struct(of(fields.map { case (path, value) => path.drop(name.length + 1) -> value }): _*).as(name)
    }
    plain.map { case (name, value) => value.as(name) } ++ structs
  }
}
