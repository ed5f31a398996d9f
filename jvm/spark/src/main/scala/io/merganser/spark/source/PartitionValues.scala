package io.merganser.spark.source

import io.merganser.merge.MerganserException
import io.merganser.spark.prune.PartitionPruning
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.KeyStrings
import io.merganser.table.properties.PartitionKind
import io.merganser.table.schema.FrameCheck
import io.merganser.table.slice.PathTimes
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LocalRelation}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.execution.datasources.ApplyCharTypePadding
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The values of a table's partition columns, parsed from partition paths.
 *
 * A level made by a time format, or in a way that is not known, does not hold its column's value: its value is the
 * string in the path.
 *
 * @param declared the table's columns as its catalog declares them: values of CHAR columns are padded to their length
 */
final class PartitionValues(table: OpenTable, declared: StructType) {
  private val config    = table.config
  private val formatted = config.partitionSpec.filter(_.kind != PartitionKind.Simple).map(_.name).toSet

  /** One column per level. CHAR and VARCHAR are strings here. */
  val columns: StructType = StructType(config.partitionFields.map { name =>
    val found = FrameCheck.find(table.schema, name)
      .getOrElse(throw new IllegalStateException(s"partition column '$name' of '${config.name}' is no column of it"))
    StructField(if (name.contains('.')) name else found.name, if (formatted(name)) StringType else found.dataType)
  })

  private val lengths: Array[Option[Int]] = columns.fields.map { column =>
    if (SQLConf.get.charVarcharAsString) None
    else declared.find(_.name.equalsIgnoreCase(column.name)).map(_.dataType).collect { case char: CharType =>
      char.length
    }
  }

  /** A value of the column at this position, padded with blanks if the column is CHAR. */
  def padded(at: Int, value: Any): Any = (lengths(at), value) match {
    case (Some(length), text: UTF8String) if text.numChars < length => text.rpad(length, PartitionValues.Blank)
    case _                                                          => value
  }

  /**
   * Paths of the partitions that have file groups now and these values, with all their values.
   *
   * @param positions of the columns whose values `ident` has
   */
  def like(positions: Seq[Int], ident: InternalRow): Seq[(String, InternalRow)] = {
    val filters = positions.zipWithIndex.flatMap { case (at, i) => filter(at, ident, i) }
    val paths   = PartitionPruning(config, table.schema).partitions(table.view, filters).paths
    table.view.partitionsWithGroups(paths).map(path => path -> of(path)).filter { case (_, row) =>
      positions.indices.forall { i =>
        val dataType = columns(positions(i)).dataType
        row.get(positions(i), dataType) == padded(positions(i), ident.get(i, dataType))
      }
    }
  }

  /** None where a path does not hold the column's value as it is compared. */
  private def filter(at: Int, ident: InternalRow, i: Int): Option[sources.Filter] = {
    val column = columns(at)
    if (formatted(column.name) || lengths(at).isDefined) None
    else if (ident.isNullAt(i)) Some(sources.IsNull(column.name))
    else column.dataType match {
      case StringType | DateType | BooleanType | ByteType | ShortType | IntegerType | LongType =>
        val value = CatalystTypeConverters.convertToScala(ident.get(i, column.dataType), column.dataType)
        Some(sources.EqualTo(column.name, value))
      case _ => None
    }
  }

  /**
   * The values in a path, in the order of [[columns]].
   *
   * @throws MerganserException PARTITION_VALUES_UNKNOWN if the path does not match the columns
   */
  def of(path: String): InternalRow = {
    def unknown = MerganserException("PARTITION_VALUES_UNKNOWN", "table" -> config.name, "path" -> path,
      "columns" -> columns.fieldNames.mkString(", "))
    val levels = levelsOf(path).getOrElse(throw unknown)
    try InternalRow.fromSeq(levels.zipWithIndex.map { case (level, at) =>
        padded(at, value(columns(at).dataType, level))
      })
    catch { case e @ (_: NumberFormatException | _: IllegalArgumentException) => throw unknown.causedBy(e) }
  }

  /**
   * A predicate on paths, from a condition on partition columns.
   *
   * @throws MerganserException OVERWRITE_CONDITION_UNSUPPORTED for a condition on anything else
   */
  def matching(condition: Expression): String => Boolean = {
    val row = columns.zip(lengths).map { case (column, length) =>
      val char =
        length.map(n =>
          CharVarcharUtils.replaceCharVarcharWithStringInSchema(StructType(Seq(column.copy(dataType = CharType(n))))))
      AttributeReference(column.name, column.dataType, nullable = true, char.fold(Metadata.empty)(_.head.metadata))()
    }
    val resolved = condition.transform {
      case replaced: RuntimeReplaceable => replaced.replacement
    }.transform {
      case column: Attribute =>
        val stored = row.find(_.name.equalsIgnoreCase(column.name)).getOrElse(throw unsupported(condition))
        if (formatted.exists(_.equalsIgnoreCase(column.name))) throw unsupported(condition)
        // What is stored as int may be declared as tinyint or smallint.
        if (stored.dataType == column.dataType) stored else Cast(stored, column.dataType, Some("UTC"), EvalMode.TRY)
    }
    if (
      !resolved.deterministic || resolved.exists(e =>
        e.isInstanceOf[PlanExpression[_]] || (e.isInstanceOf[Unevaluable] && !row.contains(e)))
    )
      throw unsupported(condition)
    // Strings that are compared with CHAR are padded with blanks, as in a query.
    val compared  = ApplyCharTypePadding(Filter(resolved, LocalRelation(row: _*))).expressions.head
    val predicate = Predicate.createInterpreted(BindReferences.bindReference(compared, row))
    path => predicate.eval(of(path))
  }

  private def levelsOf(path: String): Option[Seq[String]] = {
    val names = columns.fieldNames.toSeq
    if (names.size == 1) Some(Seq(PartitionPruning.valueOf(config, path, names.head)))
    else {
      val parts = path.split("/", -1).toSeq
      if (parts.size == names.size) Some(parts.zip(names).map { case (part, name) =>
        PartitionPruning.valueOf(config, part, name)
      })
      else None
    }
  }

  private def value(dataType: DataType, level: String): Any =
    if (level == KeyStrings.DefaultPartition.toString) null
    else {
      val plain = if (config.urlEncode) ExternalCatalogUtils.unescapePathName(level) else level
      val text  = if (config.hasSlashedDates) plain.replace('/', '-') else plain
      dataType match {
        case StringType       => UTF8String.fromString(text)
        case TimestampType    => PathTimes.micros(text)
        case TimestampNTZType => text.toLong
        case other =>
          val found = Cast(Literal(text), other, Some("UTC"), EvalMode.LEGACY).eval()
          if (found == null) throw new IllegalArgumentException(text)
          found
      }
    }

  private def unsupported(condition: Expression): MerganserException =
    MerganserException("OVERWRITE_CONDITION_UNSUPPORTED", "table" -> config.name, "condition" -> condition.sql,
      "columns" -> (if (columns.isEmpty) "none" else columns.fieldNames.mkString(", ")))
}

private object PartitionValues {
  val Blank: UTF8String = UTF8String.fromString(" ")
}
