package io.merganser.table.schema

import org.apache.spark.sql.types._

/**
 * One version of a table's columns, with ids: a column keeps its id when it is renamed, moved or retyped, and an id is
 * never used again.
 *
 * @param version     requested time of the commit that made it, as a number; 0 for the columns before the first change
 * @param maxColumnId the largest id that any version up to this one used
 * @param columns     the meta columns first
 */
final case class InternalSchema(version: Long, maxColumnId: Int, columns: Seq[SchemaColumn]) {
  import InternalSchema._

  /**
   * The version after columns were added, dropped, retyped or moved, matched by their names: a name that is new here
   * gets a new id.
   *
   * @param table   all data columns of the table from then on
   * @param instant of the new version
   * @param isExact true if comments and nullability are those of `table`; false if it may lack comments and call
   *                columns required that are not, as schemas of writes do
   * @return this version itself if nothing changed
   */
  def evolved(table: StructType, instant: Long, isExact: Boolean): InternalSchema = {
    val ids  = new Ids(maxColumnId)
    val meta = columns.filter(column => MetaColumns.isMeta(column.name))
    val data = new Evolution(ids, isExact).columns(columns.filterNot(c => MetaColumns.isMeta(c.name)),
      MetaColumns.without(table))
    if (meta ++ data == columns) this else InternalSchema(instant, ids.last, meta ++ data)
  }

  /**
   * The version with another name for one column.
   *
   * @param path names of the structs around it and its own; elements and values of maps are named `element`, `value`
   */
  def renamed(path: Seq[String], name: String): InternalSchema = copy(columns = changed(columns, path) { column =>
    Some(column.copy(name = name))
  })

  /** The version without one column. */
  def without(path: Seq[String]): InternalSchema = copy(columns = changed(columns, path)(_ => None))
}

/** @param doc its comment; None for none */
final case class SchemaColumn(id: Int, name: String, isOptional: Boolean, kind: ColumnKind, doc: Option[String] = None)

/** The type of a column. */
sealed trait ColumnKind

object ColumnKind {

  /** @param name the type as the JSON has it, such as `long` or `decimal_fixed(5, 2)[3]` */
  final case class Scalar(name: String) extends ColumnKind

  final case class Record(columns: Seq[SchemaColumn]) extends ColumnKind

  /** An array. */
  final case class Elements(element: SchemaColumn) extends ColumnKind

  /** A map. */
  final case class Entries(key: SchemaColumn, value: SchemaColumn) extends ColumnKind
}

object InternalSchema {
  import ColumnKind._

  /** The first version of a table's columns: the meta columns, then these, numbered level by level. */
  def initial(table: StructType): InternalSchema = {
    val ids     = new Ids(-1)
    val all     = new Evolution(ids, isExact = true).fresh(MetaColumns.before(table))
    val columns = all.map(column => if (MetaColumns.isMeta(column.name)) column.copy(doc = Some("")) else column)
    InternalSchema(0L, ids.last, columns)
  }

  /** The name of a scalar type; None for types that columns of a history cannot have. */
  private[schema] def scalar(dataType: DataType): Option[String] = dataType match {
    case BooleanType                               => Some("boolean")
    case ByteType | ShortType | IntegerType        => Some("int")
    case LongType                                  => Some("long")
    case FloatType                                 => Some("float")
    case DoubleType                                => Some("double")
    case DateType                                  => Some("date")
    case TimestampType                             => Some("timestamp")
    case TimestampNTZType                          => Some("local-timestamp-micros")
    case StringType | _: CharType | _: VarcharType => Some("string")
    case BinaryType                                => Some("binary")
    case d: DecimalType => Some(s"decimal_fixed(${d.precision}, ${d.scale})[${bytesOf(d.precision)}]")
    case _              => None
  }

  private def bytesOf(precision: Int): Int = io.merganser.table.avro.AvroSchemas.bytesForPrecision(precision)

  private final class Ids(var last: Int) {
    def next(): Int = {
      last += 1
      last
    }
  }

  private final class Evolution(ids: Ids, isExact: Boolean) {

    def columns(before: Seq[SchemaColumn], after: StructType): Seq[SchemaColumn] = {
      val found = after.map(field => field -> before.find(_.name == field.name))
      found.map {
        case (field, Some(known)) =>
          val comment = field.getComment()
          known.copy(
            isOptional = field.nullable || (!isExact && known.isOptional),
            kind = kind(known.kind, field.dataType),
            doc = if (isExact) comment else comment.orElse(known.doc)
          )
        case (field, None) =>
          val id = ids.next()
          SchemaColumn(id, field.name, field.nullable, freshKind(field.dataType), field.getComment())
      }
    }

    private def kind(before: ColumnKind, after: DataType): ColumnKind = (before, after) match {
      case (r: Record, s: StructType) => Record(columns(r.columns, s))
      case (e: Elements, a: ArrayType) =>
        Elements(e.element.copy(isOptional = a.containsNull || (!isExact && e.element.isOptional),
            kind = kind(e.element.kind, a.elementType)))
      case (e: Entries, m: MapType) =>
        Entries(e.key,
          e.value.copy(isOptional = m.valueContainsNull || (!isExact && e.value.isOptional),
            kind = kind(e.value.kind, m.valueType)))
      case (s: Scalar, other) if scalar(other).exists(isSame(s.name, _)) => s
      case (_, other)                                                    => freshKind(other)
    }

    /** New columns: those of one level are numbered before those inside of them. */
    def fresh(fields: StructType): Seq[SchemaColumn] = {
      val numbered = fields.map(field => field -> ids.next())
      numbered.map { case (field, id) =>
        SchemaColumn(id, field.name, field.nullable, freshKind(field.dataType), field.getComment())
      }
    }

    private def freshKind(dataType: DataType): ColumnKind = dataType match {
      case s: StructType => Record(fresh(s))
      case a: ArrayType =>
        val id = ids.next()
        Elements(SchemaColumn(id, "element", a.containsNull, freshKind(a.elementType)))
      case m: MapType =>
        val (key, value) = (ids.next(), ids.next())
        Entries(SchemaColumn(key, "key", isOptional = false, freshKind(m.keyType)),
          SchemaColumn(value, "value", m.valueContainsNull, freshKind(m.valueType)))
      case other => Scalar(scalar(other).getOrElse(
            throw new IllegalStateException(s"a column of type ${other.catalogString} was not refused")))
    }
  }

  /** Decimals of one precision and scale have several names, by the way in which Avro stores them. */
  private def isSame(one: String, other: String): Boolean = one == other || (decimal(one) match {
    case Some(digits) => decimal(other).contains(digits)
    case None         => false
  })

  private val Decimal = """decimal\w*\((\d+),\s*(\d+)\).*""".r

  private def decimal(name: String): Option[(String, String)] = name match {
    case Decimal(precision, scale) => Some((precision, scale))
    case _                         => None
  }

  /** Changes one column by its path, or removes it. */
  private def changed(columns: Seq[SchemaColumn], path: Seq[String])(
      change: SchemaColumn => Option[SchemaColumn]
  ): Seq[SchemaColumn] = {
    val name  = path.head
    val found = columns.find(_.name == name).orElse(columns.find(_.name.equalsIgnoreCase(name)))
    columns.flatMap { column =>
      if (!found.exists(_ eq column)) Some(column)
      else if (path.tail.isEmpty) change(column)
      else Some(column.copy(kind = column.kind match {
        case Record(inner)       => Record(changed(inner, path.tail)(change))
        case Elements(element)   => Elements(changed(Seq(element), path.tail)(change).head)
        case Entries(key, value) => Entries(key, changed(Seq(value), path.tail)(change).head)
        case scalar: Scalar      => scalar
      }))
    }
  }
}
