package io.merganser.table.schema

import io.merganser.merge.MerganserException
import io.merganser.merge.columns.ColumnFunction
import io.merganser.table.avro.{AvroSchemas, Widening}
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig
import io.merganser.table.options.Names.lower
import org.apache.spark.sql.types._

/** How a table's columns change when rows with other columns are written to it. Pure: nothing is read or written. */
object SchemaEvolution {

  /**
   * The columns that can store both: the table's first, in their order, each as wide as either needs it; then those
   * that the table lacks, in their order, nullable. The same holds for fields of structs, also in arrays and map
   * values.
   *
   * Columns match by name, the exact spelling first, then any case; the table's spelling is preserved. Columns that the
   * rows lack are unchanged: whether rows may lack them is checked by [[FrameCheck.requireSchema]].
   *
   * @param name     of the table, for errors
   * @param table    the table's data columns; where empty, the result is `incoming` as it is stored
   * @param incoming data columns of the incoming rows; meta columns among them are ignored
   * @param widensToString a number or date may become a string
   * @throws MerganserException SCHEMA_CONFLICT, COLUMN_WOULD_BECOME_STRING, naming the column by path and both types;
   *                            UNSUPPORTED_TYPE, UNSUPPORTED_COLUMN_NAME for what cannot be stored
   */
  def evolved(name: String, table: StructType, incoming: StructType, widensToString: Boolean): StructType = {
    val typed = withTypesFor(MetaColumns.ofUser(incoming), table).asInstanceOf[StructType]
    AvroSchemas.checkColumns(typed)
    val columns = AvroSchemas.stored(typed)
    if (table.isEmpty) columns else new Evolution(name, widensToString).struct("", table, columns)
  }

  /** `lit(None)` and empty arrays have no type: they have the table's. */
  private def withTypesFor(incoming: DataType, table: DataType): DataType = (incoming, table) match {
    case (NullType, known) => known
    case (i: StructType, t: StructType) =>
      StructType(i.map(f => own(t, f.name).fold(f)(to => f.copy(dataType = withTypesFor(f.dataType, to.dataType)))))
    case (i: ArrayType, t: ArrayType) => i.copy(elementType = withTypesFor(i.elementType, t.elementType))
    case (i: MapType, t: MapType) =>
      i.copy(keyType = withTypesFor(i.keyType, t.keyType), valueType = withTypesFor(i.valueType, t.valueType))
    case _ => incoming
  }

  /**
   * How a table's columns changed.
   *
   * @param added   by their paths
   * @param widened each as `amount: int -> bigint`
   */
  final case class Changes(added: Seq[String], widened: Seq[String])

  /** What a write of these columns changes; nothing where the table had no columns before. */
  def changes(before: StructType, after: StructType): Changes = {
    val all = if (before.isEmpty) Nil else differences(before, after)
    Changes(all.collect { case Difference(path, None, _) => path },
      all.collect { case Difference(path, Some(was), is) => s"$path: ${was.catalogString} -> ${is.catalogString}" })
  }

  /**
   * What a table has not as it is declared: columns that it lacks, and other types. Further columns and wider types
   * contradict nothing: another write may have added and widened them.
   *
   * @param name  of the table
   * @param table its data columns
   * @return a clause; None where the declared columns fit, and of a table without columns
   */
  def contradiction(name: String, table: StructType, declared: StructType): Option[String] =
    if (table.isEmpty) None
    else
      try {
        val stored  = AvroSchemas.stored(MetaColumns.ofUser(declared))
        val added   = differences(table, evolved(name, table, declared, widensToString = true))
        val lacking = added.collect { case Difference(path, None, _) => s"'$path'" }
        val wider   = added.collect { case Difference(path, Some(was), is) => otherType(path, is, was) }
        // Rows with numbers fit into a column of strings, and yet it is another column than a number's.
        val strings = differences(stored, table).collect { case Difference(path, Some(was), StringType) =>
          otherType(path, was, StringType)
        }
        val lacks = if (lacking.isEmpty) Nil else Seq(s"the table lacks ${lacking.mkString(" and ")}")
        Some(lacks ++ wider ++ strings).filter(_.nonEmpty).map(_.mkString("; "))
      } catch { case e: MerganserException if e.condition == "SCHEMA_CONFLICT" => e.parameters.get("reason") }

  private def otherType(path: String, is: DataType, table: DataType): String =
    s"column '$path' is ${is.catalogString}, the table has ${table.catalogString}"

  /** A column, or a field inside one, that is new or of another type. */
  private final case class Difference(path: String, was: Option[DataType], is: DataType)

  /** By the order of `after`. */
  private def differences(before: StructType, after: StructType): Seq[Difference] = {
    def inside(path: String, was: DataType, is: DataType): Seq[Difference] = (was, is) match {
      case (a: StructType, b: StructType) => fields(path, a, b)
      case (a: ArrayType, b: ArrayType)   => inside(s"$path.element", a.elementType, b.elementType)
      case (a: MapType, b: MapType)       => inside(s"$path.value", a.valueType, b.valueType)
      case _ if was == is                 => Nil
      case _                              => Seq(Difference(path, Some(was), is))
    }
    def fields(path: String, was: StructType, is: StructType): Seq[Difference] = is.flatMap { field =>
      val name = if (path.isEmpty) field.name else s"$path.${field.name}"
      own(was, field.name).fold(Seq(Difference(name, None, field.dataType)))(f =>
        inside(name, f.dataType, field.dataType))
    }
    fields("", before, after)
  }

  /**
   * The columns of a table after a write; those that it adds are before partition columns that are the last ones.
   *
   * @throws MerganserException what [[evolved]] and [[requireStable]] throw
   */
  def ofWrite(config: TableConfig, table: StructType, incoming: StructType, widensToString: Boolean): StructType = {
    // First the changes that no option allows.
    requireStable(config, table, evolved(config.name, table, incoming, widensToString = true))
    val (own, added) = evolved(config.name, table, incoming, widensToString).splitAt(table.length)
    ColumnOrder.withAdded(StructType(own), added, config.partitionFields)
  }

  /**
   * Refuses new types of key, partition, delete marker and ordering columns for which stored keys, paths or the order
   * would no longer match the values, and changes of columns whose own merge function would not be possible after them.
   *
   * @param before the table's columns
   * @param after  its columns after the write
   * @throws MerganserException SCHEMA_CONFLICT
   */
  def requireStable(config: TableConfig, before: StructType, after: StructType): Unit = {
    def check(role: String, fields: Seq[String], keeps: (DataType, DataType) => Boolean): Unit =
      for (field <- fields; was <- FrameCheck.find(before, field); is <- FrameCheck.find(after, field))
        if (was.dataType != is.dataType && !keeps(was.dataType, is.dataType))
          throw conflict(config.name,
            s"$role column '$field' would become ${is.dataType.catalogString} where stored rows have " +
              was.dataType.catalogString)
    check("record key", config.recordKeyFields, keepsText)
    check("partition", config.partitionFields, keepsText)
    check("delete marker", config.mergeProperties.get(Options.DeleteField.key).toSeq, keepsText)
    check("ordering", config.orderingFields, keepsOrder)
    val groups = config.rule.toSeq.flatMap(_.groups)
    check("ordering", groups.flatMap(_.ordering), keepsOrder)
    for (group <- groups; column <- group.members if !after.exists(_.name == column))
      throw conflict(config.name,
        s"column '$column', which is in the group '${group.name}', would be renamed or dropped")
    for (retraction <- config.rule.flatMap(_.retract) if !after.exists(_.name == retraction.column))
      throw conflict(config.name,
        s"column '${retraction.column}', which marks retractions, would be renamed or dropped")
    for (rule <- config.rule; (column, function) <- rule.columns)
      after.find(_.name == column) match {
        case None => throw conflict(config.name,
            s"column '$column', which is merged by '$function', would be renamed or dropped")
        case Some(field) => function.refusal(field.dataType).foreach { allowed =>
            throw conflict(config.name,
              s"column '$column' would become ${field.dataType.catalogString}, and '$function', by which it is " +
                s"merged, is for $allowed")
          }
      }
    for (rule <- config.rule; (column, expression: ColumnFunction.Computed) <- rule.columns)
      expression.problem(MetaColumns.ofUser(after), column).foreach { problem =>
        throw conflict(config.name,
          s"column '$column' could no longer be merged by '$expression': ${problem.reason}. ${problem.remedy}")
      }
  }

  /** @param name of the table, for errors */
  private final class Evolution(name: String, widensToString: Boolean) {

    def struct(path: String, table: StructType, incoming: StructType): StructType = {
      def at(field: String) = if (path.isEmpty) field else s"$path.$field"
      val matched           = incoming.map(field => own(table, field.name) -> field)
      matched.groupBy { case (mine, field) => mine.fold(lower(field.name))(_.name) }.values.filter(_.size > 1).foreach {
        several =>
          throw conflict(name,
            s"columns ${several.map { case (_, f) => s"'${at(f.name)}'" }.mkString(" and ")} differ only in case")
      }
      val widened = table.map { field =>
        matched.collectFirst { case (Some(mine), other) if mine.name == field.name => other } match {
          case Some(other) => field.copy(dataType = wider(at(field.name), field.dataType, other.dataType))
          case None        => field
        }
      }
      StructType(widened ++ matched.collect { case (None, field) =>
        val added = StructField(field.name, field.dataType)
        field.getComment().fold(added)(added.withComment)
      })
    }

    private def wider(column: String, table: DataType, incoming: DataType): DataType = (table, incoming) match {
      case (t: StructType, i: StructType) => struct(column, t, i)
      case (t: ArrayType, i: ArrayType) =>
        ArrayType(wider(s"$column.element", t.elementType, i.elementType), t.containsNull)
      case (t: MapType, i: MapType) if FrameCheck.fits(i.keyType, t.keyType) =>
        MapType(t.keyType, wider(s"$column.value", t.valueType, i.valueType), t.valueContainsNull)
      case (t, i) if FrameCheck.fits(i, t) => t
      case (t, StringType) if Widening.isPromotion(t, StringType) && !widensToString =>
        throw MerganserException("COLUMN_WOULD_BECOME_STRING", "table" -> name, "column" -> column,
          "type" -> t.catalogString,
          "option" -> s"${Options.FrameEvolution.key}=toString")
      case (t, i) if Widening.isPromotion(t, i) => i
      case _ =>
        throw conflict(name, s"${otherType(column, incoming, table)}, and neither widens to the other")
    }
  }

  private def own(table: StructType, name: String): Option[StructField] =
    table.find(_.name == name).orElse(Some(table.filter(_.name.equalsIgnoreCase(name))).filter(_.size == 1).map(_.head))

  /** Whether a value's string form, of which keys and paths are made, is the same in both types. */
  private def keepsText(from: DataType, to: DataType): Boolean = (from, to) match {
    case (ByteType | ShortType | IntegerType, LongType | StringType) | (LongType, StringType) => true
    case (a: DecimalType, b: DecimalType)                                                     => a.scale == b.scale
    case _                                                                                    => false
  }

  /** Whether values compare alike in both types, and distinct values stay distinct. */
  private def keepsOrder(from: DataType, to: DataType): Boolean = (from, to) match {
    case (ByteType | ShortType | IntegerType, LongType | DoubleType)     => true
    case (ByteType | ShortType | IntegerType | LongType, _: DecimalType) => Widening.isAllowed(from, to)
    case (FloatType, DoubleType)                                         => true
    case (_: DecimalType, _: DecimalType)                                => Widening.isAllowed(from, to)
    case _                                                               => false
  }

  private def conflict(table: String, reason: String) =
    MerganserException("SCHEMA_CONFLICT", "table" -> table, "reason" -> reason)
}
