package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import java.util.{Collections, Map => JavaMap}
import scala.collection.JavaConverters._
import scala.collection.mutable

/**
 * The records of one [[CustomRule]]: views of [[Version]]s, without the columns that are the engine's own.
 *
 * @param hidden names of columns that users do not see
 */
private[merganser] final class RowContext(layout: RowLayout, hidden: Set[String]) extends RecordContext {
  private[this] val width      = layout.schema.length
  private[this] val types      = layout.schema.map(_.dataType).toArray
  private[this] val visible    = layout.schema.fieldNames.indices.filterNot(i => hidden(layout.schema(i).name)).toArray
  private[this] val positions  = visible.map(i => layout.schema(i).name -> i).toMap
  private[this] val comparator = new OrderingComparator(layout)

  /** Columns that a new row takes from a version it was made of: the engine's own, and the key. */
  private[this] val engineColumns =
    layout.schema.fieldNames.indices.filter(i => hidden(layout.schema(i).name) || i == layout.keyOrdinal).toArray

  private[this] val operationOrdinal = positions.getOrElse(DeleteCheck.OperationColumn, -1)

  /** Whether the visible columns come first, so that users get the row as it is. */
  private[this] val visibleFirst = visible.indices.forall(n => visible(n) == n)

  /** Provided columns by schema id, the first of which is all of them. */
  private[this] val masks = mutable.ArrayBuffer[Array[Boolean]](null)

  /** All columns that users see. */
  val schema: StructType = StructType(visible.map(layout.schema(_)))

  def view(version: Version): BufferedRecord = new BufferedRecord(this, version)

  // --- for BufferedRecord

  def key(version: Version): String = layout.key(version.row).toString

  def isUnconditional(version: Version): Boolean =
    version.isDelete && (version.isUnconditional || layout.orderingOrdinals.isEmpty)

  def orderingValues(version: Version): java.util.List[AnyRef] =
    Collections.unmodifiableList(layout.ordering.map(orderingValue(version.row, _)).toSeq.asJava)

  def ordering(version: Version): Comparable[_] =
    if (layout.orderingOrdinals.isEmpty || isUnconditional(version)) null
    else if (layout.orderingOrdinals.length > 1) new OrderingValues(this, version)
    else orderingValue(version.row, layout.ordering(0)) match {
      case null                      => null
      case comparable: Comparable[_] => comparable
      case bytes: Array[Byte]        => java.nio.ByteBuffer.wrap(bytes)
      case other                     => throw new IllegalStateException(s"ordering value of ${other.getClass.getName}")
    }

  /** By the types of the ordering fields; null first. */
  def compareValues(a: java.util.List[AnyRef], b: java.util.List[AnyRef]): Int = {
    var (i, result) = (0, 0)
    while (result == 0 && i < layout.ordering.length) {
      val field = layout.ordering(i)
      val (x, y) = (JavaValues.toEngine(a.get(i), field.dataType, field.name),
        JavaValues.toEngine(b.get(i), field.dataType, field.name))
      result =
        if (x == null || y == null) java.lang.Boolean.compare(x != null, y != null)
        else TypeUtils.getInterpretedOrdering(field.dataType).compare(x, y)
      i += 1
    }
    result
  }

  def data(version: Version): InternalRow =
    if (version.isDelete) null
    else if (version.provided == null && visibleFirst) version.row
    else {
      val columns = columnsOf(version)
      new GenericInternalRow(
        Array.tabulate[Any](columns.length)(n => RowLayout.valueAt(version.row, columns(n), types(columns(n)))))
    }

  def schemaId(version: Version): Int =
    if (version.isDelete) -1
    else if (version.provided == null) 0
    else masks.indexWhere(mask => mask != null && java.util.Arrays.equals(mask, version.provided)) match {
      case -1 =>
        masks += version.provided
        masks.length - 1
      case id => id
    }

  def operation(version: Version): RecordOperation =
    if (version.isDelete) RecordOperation.DELETE
    else if (operationOrdinal < 0 || !provides(version, operationOrdinal) || version.row.isNullAt(operationOrdinal))
      RecordOperation.INSERT
    else version.row.getUTF8String(operationOrdinal).toString match {
      case "U" => RecordOperation.UPDATE_AFTER
      case _   => RecordOperation.INSERT
    }

  def describe(version: Version): String =
    if (isUnconditional(version)) "delete without ordering value"
    else if (version.isDelete) s"delete with ordering value ${orderingValues(version).asScala.mkString(", ")}"
    else {
      val text = new StringBuilder("{")
      columnsOf(version).takeWhile(_ => text.length < RowContext.TextLength).foreach { i =>
        if (text.length > 1) text ++= ", "
        text ++= s"${layout.schema(i).name}=${textOf(value(version.row, i))}"
      }
      (if (text.length < RowContext.TextLength) text.toString
       else text.toString.take(RowContext.TextLength) + "...") + "}"
    }

  private def textOf(value: AnyRef): String = value match {
    case bytes: Array[Byte] => s"${bytes.length} bytes"
    case other              => String.valueOf(other).take(RowContext.TextLength)
  }

  private def value(row: InternalRow, i: Int): AnyRef =
    if (row.isNullAt(i)) null else JavaValues.toJava(row.get(i, types(i)), types(i))

  private def orderingValue(row: InternalRow, field: OrderingField): AnyRef = field.valueIn(row) match {
    case null  => null
    case value => JavaValues.toJava(value, field.dataType)
  }

  private def provides(version: Version, i: Int): Boolean =
    !version.isDelete && (version.provided == null || version.provided(i))

  private def columnsOf(version: Version): Array[Int] =
    if (version.provided == null) visible else visible.filter(version.provided(_))

  // --- RecordContext

  override def getValue(record: BufferedRecord, column: String): AnyRef = {
    val i = position(column)
    if (!provides(record.version, i)) {
      val why = if (record.isDelete) "a delete has no columns"
      else s"this version provides ${getSchema(record).fieldNames.mkString(", ")}"
      throw new IllegalArgumentException(s"column '$column' is not provided: $why")
    }
    value(record.version.row, i)
  }

  override def isProvided(record: BufferedRecord, column: String): Boolean = provides(record.version, position(column))

  override def getSchema(record: BufferedRecord): StructType =
    if (record.isDelete) RowContext.NoColumns
    else if (record.version.provided == null) schema
    else StructType(columnsOf(record.version).map(layout.schema(_)))

  override def getSchema(schemaId: Int): StructType =
    if (schemaId < 0) RowContext.NoColumns
    else if (schemaId >= masks.length) throw new IllegalArgumentException(s"no schema has id $schemaId")
    else if (schemaId == 0) schema
    else StructType(visible.filter(masks(schemaId)(_)).map(layout.schema(_)))

  override def compareOrdering(a: BufferedRecord, b: BufferedRecord): Int =
    if (layout.orderingOrdinals.isEmpty) 0
    else {
      for (record <- Seq(a, b) if record.isCommitTimeOrderingDelete)
        throw new IllegalArgumentException(s"the delete of '${record.getRecordKey}' has no ordering value to compare")
      comparator.compare(a.version.row, b.version.row)
    }

  override def mergeWithEngineRecord(record: BufferedRecord, values: JavaMap[String, _]): BufferedRecord = {
    val from = record.version
    if (from.isDelete) constructEngineRecord(record, values)
    else built(record, values, i => if (provides(from, i)) RowLayout.valueAt(from.row, i, types(i)) else null,
      provides(from, _))
  }

  override def constructEngineRecord(record: BufferedRecord, values: JavaMap[String, _]): BufferedRecord =
    built(record, values, _ => null, _ => false)

  /** A record of the columns of a row in the engine's form; they are columns that users see. */
  def ofEngineRow(record: BufferedRecord, row: InternalRow, columns: StructType): BufferedRecord = {
    val at = columns.fieldNames.zipWithIndex.map { case (name, n) => position(name) -> n }.toMap
    built(record, Collections.emptyMap(), i => RowLayout.valueAt(row, at(i), types(i)), at.contains)
  }

  /** The values of the ordering fields in the engine's form; for records that are not unconditional deletes. */
  def engineOrdering(record: BufferedRecord): Seq[Any] = layout.ordering.toSeq.map(_.valueIn(record.version.row))

  private def built(
      record: BufferedRecord,
      values: JavaMap[String, _],
      rest: Int => Any,
      alsoProvided: Int => Boolean
  ): BufferedRecord = {
    val columns  = new Array[Any](width)
    val provided = new Array[Boolean](width)
    visible.foreach { i =>
      provided(i) = alsoProvided(i)
      if (provided(i)) columns(i) = rest(i)
    }
    values.entrySet.iterator.asScala.foreach { entry =>
      val i = position(entry.getKey)
      columns(i) = JavaValues.toEngine(entry.getValue, types(i), entry.getKey)
      provided(i) = true
    }
    val version = new Version().set(new GenericInternalRow(columns), isDelete = false, isUnconditional = false)
    if (!visible.forall(provided(_))) {
      engineColumns.foreach(provided(_) = true)
      version.provided = provided
    }
    setHidden(version, record.version)
    view(version)
  }

  override def createDelete(record: BufferedRecord): BufferedRecord = deleteOf(record, isUnconditional(record.version))

  override def createCommitTimeOrderingDelete(record: BufferedRecord): BufferedRecord =
    deleteOf(record, isUnconditional = true)

  private def deleteOf(record: BufferedRecord, isUnconditional: Boolean): BufferedRecord = {
    val row     = new GenericInternalRow(width)
    val version = new Version().set(row, isDelete = true, isUnconditional = isUnconditional)
    setHidden(version, record.version)
    if (!isUnconditional)
      layout.orderingOrdinals.foreach(i => row.update(i, RowLayout.valueAt(record.version.row, i, types(i))))
    view(version)
  }

  override def copy(record: BufferedRecord): BufferedRecord = view(record.version.copy())

  // --- for the rule

  /** Sets the engine's own columns of a row that this context made to those of another version. */
  def setHidden(version: Version, from: Version): Unit = version.row match {
    case row: GenericInternalRow if row.numFields == width =>
      var n = 0
      while (n < engineColumns.length) {
        row.update(engineColumns(n), RowLayout.valueAt(from.row, engineColumns(n), types(engineColumns(n))))
        n += 1
      }
    case _ =>
  }

  def keyBytes(version: Version): UTF8String = layout.key(version.row)

  /** Names of the columns that `result` provides, if they are not exactly those that either of the two provides. */
  def wronglyProvided(result: Version, older: Version, newer: Version): Option[Seq[String]] =
    if (result.isDelete || visible.forall(i => provides(result, i) == (provides(older, i) || provides(newer, i)))) None
    else Some(columnsOf(result).map(layout.schema(_).name).toSeq)

  def providedByEither(older: Version, newer: Version): Seq[String] =
    visible.filter(i => provides(older, i) || provides(newer, i)).map(layout.schema(_).name).toSeq

  private def position(column: String): Int = positions.getOrElse(column,
    throw new IllegalArgumentException(
      s"there is no column '$column'; columns are ${schema.fieldNames.mkString(", ")}"))
}

private[merganser] object RowContext {
  private val NoColumns = new StructType

  /** Approximate number of characters of a version in a message. */
  private val TextLength = 300
}
