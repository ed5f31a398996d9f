package io.merganser.spark.write.prepare

import io.merganser.merge.OrderingField
import io.merganser.spark.write.key.{AmbiguousKeys, KeyColumns}
import io.merganser.spark.write.prepare.WriteRow.quoted
import io.merganser.table.rule.CompiledRule
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions.{coalesce, concat, lit, struct, substring, to_json, when}
import org.apache.spark.sql.types.StructType

/** Key and partition path of aligned rows: those of the stored row that a row names, else by its columns. */
private[prepare] final class RowIdentity(of: Preparation, aligned: AlignedFrame) {
  import aligned.{has, isIdentified}
  import of.{checks, config, schema}

  private val isGenerated = has(WriteRow.GeneratedKey)

  private val computedKey =
    if (isGenerated) quoted(WriteRow.GeneratedKey) else KeyColumns.recordKey(config, schema)

  private val computedPath = KeyColumns.partitionPath(config, schema)

  private val isDelete =
    quoted(WriteRow.UnconditionalDelete) || (if (has(WriteRow.OrderedDelete)) quoted(WriteRow.OrderedDelete)
                                             else lit(false))

  /** Rows may be stored in other partitions than their own. */
  val hasOrigin: Boolean = isIdentified && of.global.isDefined

  private val moves = hasOrigin && of.global.exists(_.move)

  val key: Column = if (isIdentified) coalesce(quoted(WriteRow.StoredKey), computedKey) else computedKey

  def path: Column = {
    def stored = coalesce(quoted(WriteRow.StoredPath), computedPath)
    if (!isIdentified) computedPath
    else if (moves) when(isDelete, stored).otherwise(computedPath)
    else stored
  }

  /** In the order in which a row is checked. */
  def requirements(retractions: Option[Retractions]): Seq[Requirement] =
    keyRequired ++ stays ++ ordered(retractions) ++ distinct ++ FineTimes.refused(config, schema, key)

  private def keyRequired: Seq[Requirement] =
    if (isGenerated) Nil else Seq(requirement("NULL_RECORD_KEY", config.recordKeyFields, key.isNull, rowText))

  private def ordered(retractions: Option[Retractions]): Seq[Requirement] =
    if (!checks.nullOrdering) Nil
    else CompiledRule.orderingFields(of.rule, schema).map { f =>
      val field = OrderingField.find(schema, f).map(_.column.name).getOrElse(f)
      val isRow = !quoted(WriteRow.UnconditionalDelete) && !retractions.fold(lit(false))(_.marker)
      val isOwn = of.masks.indices.filterNot(of.masks(_).columns.contains(field)).foldLeft(isRow)((own, i) =>
        own && quoted(WriteRow.Mask) =!= i)
      requirement("NULL_ORDERING_VALUE", Seq(f), valueOf(f).isNull && isOwn, key)
    }

  /** A change of a stored row must not alter the columns that its key or path is computed from. */
  private def stays: Seq[Requirement] = {
    def unchanged(stored: Column, computed: Column, fields: Seq[String]) =
      requirement("KEY_COLUMN_CHANGED", fields, stored.isNotNull && !isDelete && !(computed <=> stored),
        concat(stored, lit(" to "), coalesce(computed, lit("null"))))
    if (!isIdentified) Nil
    else
      (if (isGenerated) Nil else Seq(unchanged(quoted(WriteRow.StoredKey), computedKey, config.recordKeyFields))) ++
        (if (moves) Nil else Seq(unchanged(quoted(WriteRow.StoredPath), computedPath, config.partitionFields)))
  }

  /** Of new rows; the key and path of a stored row are its own. */
  private def distinct: Seq[Requirement] =
    if (!checks.ambiguousKeys) Nil
    else {
      def isNew(computed: Column, stored: => Column) = if (isIdentified) !(computed <=> stored) else lit(true)
      val inKey                                      = if (isGenerated) None else AmbiguousKeys.inKey(config, schema)
      inKey.toSeq.map(fails =>
        requirement("KEY_AMBIGUOUS", config.recordKeyFields,
          fails && isNew(computedKey, quoted(WriteRow.StoredKey)), rowText)) ++
        AmbiguousKeys.inPath(config, schema).map(fails =>
          requirement("PARTITION_AMBIGUOUS", config.partitionFields,
            fails && isNew(computedPath, quoted(WriteRow.StoredPath)), rowText))
    }

  private def requirement(condition: String, fields: Seq[String], fails: Column, row: Column): Requirement =
    Requirement(condition, config.name, fields.mkString(","), fails, row)

  /** A row that has no key, as JSON; nulls are left out. */
  private def rowText: Column =
    substring(to_json(struct(schema.map(f => quoted(f.name)): _*)), 1, 200)

  /** A column's value, or that of a field inside a struct column. */
  private def valueOf(name: String): Column = OrderingField.find(schema, name) match {
    case Some(field) =>
      field.path.foldLeft((quoted(field.column.name), field.column.dataType)) { case ((value, dataType), at) =>
        val inner = dataType.asInstanceOf[StructType](at)
        (value.getField(inner.name), inner.dataType)
      }._1
    case None => quoted(name)
  }
}
