package io.merganser.table.schema

import org.apache.spark.sql.sources._
import org.apache.spark.sql.types._

/**
 * The columns of one file, matched by id with those that a query requests by their current names.
 *
 * A column that the file's version lacks is read by its name, since a writer may have added it without a new version;
 * but not where the version has another column of that name, which was dropped or renamed since.
 *
 * @param now  the columns as the query sees them
 * @param file the columns as the file was written
 */
final case class FileColumns(now: InternalSchema, file: InternalSchema) {
  import ColumnKind._
  import FileColumns._

  /**
   * The requested columns with the names that they have in the file, in the same order and with the same types; under a
   * name that no column has, where the file has no values of a column.
   */
  def stored(requested: StructType): StructType =
    if (now eq file) requested else struct(requested, now.columns, file.columns)

  /** The filter with the file's names; None if it refers to a column that the file lacks, or inside of a struct. */
  def stored(filter: Filter): Option[Filter] = if (now eq file) Some(filter) else renamed(filter)

  /**
   * The name of a column in the file, if the values that readers see are in the range of those that the file has there
   * in their own type; None if the file may have another column of the name, or none.
   */
  def measured(column: String): Option[String] =
    if (now eq file) Some(column)
    else for {
      current <- now.columns.find(_.name == column)
      there   <- file.columns.find(_.id == current.id)
      if !isRounded(there.kind, current.kind)
    } yield there.name

  /** A float becomes the double with its decimal digits, which is another number. */
  private def isRounded(file: ColumnKind, now: ColumnKind): Boolean = file == Scalar("float") && now != file

  private def struct(requested: StructType, now: Seq[SchemaColumn], file: Seq[SchemaColumn]): StructType =
    StructType(requested.map { field =>
      val current = now.find(_.name == field.name)
      current.flatMap(c => file.find(_.id == c.id)) match {
        case Some(there) =>
          field.copy(name = there.name, dataType = kind(field.dataType, current.get.kind, there.kind))
        case None if file.exists(_.name == field.name) => field.copy(name = s"${field.name}$Absent")
        case None                                      => field
      }
    })

  private def kind(requested: DataType, now: ColumnKind, file: ColumnKind): DataType = (requested, now, file) match {
    case (s: StructType, n: Record, f: Record) => struct(s, n.columns, f.columns)
    case (a: ArrayType, n: Elements, f: Elements) =>
      a.copy(elementType = kind(a.elementType, n.element.kind, f.element.kind))
    case (m: MapType, n: Entries, f: Entries) => m.copy(valueType = kind(m.valueType, n.value.kind, f.value.kind))
    case (other, _, _)                        => other
  }

  private def name(column: String): Option[String] =
    now.columns.find(_.name == column).filter(_.kind.isInstanceOf[Scalar])
      .flatMap(c => file.columns.find(_.id == c.id)).map(_.name)

  private def renamed(filter: Filter): Option[Filter] = {
    def both(left: Filter, right: Filter)(join: (Filter, Filter) => Filter) =
      for (l <- renamed(left); r <- renamed(right)) yield join(l, r)
    filter match {
      case And(left, right)         => both(left, right)(And(_, _))
      case Or(left, right)          => both(left, right)(Or(_, _))
      case Not(child)               => renamed(child).map(Not(_))
      case EqualTo(c, v)            => name(c).map(EqualTo(_, v))
      case EqualNullSafe(c, v)      => name(c).map(EqualNullSafe(_, v))
      case GreaterThan(c, v)        => name(c).map(GreaterThan(_, v))
      case GreaterThanOrEqual(c, v) => name(c).map(GreaterThanOrEqual(_, v))
      case LessThan(c, v)           => name(c).map(LessThan(_, v))
      case LessThanOrEqual(c, v)    => name(c).map(LessThanOrEqual(_, v))
      case In(c, values)            => name(c).map(In(_, values))
      case IsNull(c)                => name(c).map(IsNull(_))
      case IsNotNull(c)             => name(c).map(IsNotNull(_))
      case StringStartsWith(c, v)   => name(c).map(StringStartsWith(_, v))
      case StringEndsWith(c, v)     => name(c).map(StringEndsWith(_, v))
      case StringContains(c, v)     => name(c).map(StringContains(_, v))
      case _                        => None
    }
  }
}

object FileColumns {

  /** Ends the name of a column that a file lacks; no column's name may contain it. */
  private[schema] val Absent = "#absent"
}
