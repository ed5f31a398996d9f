package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where a merge finds the columns it needs: names become positions here, before the first row.
 *
 * @param schema           columns of every row that takes part, stored or incoming
 * @param keyOrdinal       position of the record key, a string that is never null
 * @param ordering         the ordering fields, in the order they are compared; empty if there are none
 * @param deletes          detects a delete by the row's own columns
 * @param ordersDeletes    a delete that does not provide an ordering field has null there, and is not unconditional
 */
final case class RowLayout(
    schema: StructType,
    keyOrdinal: Int,
    ordering: Array[OrderingField],
    deletes: DeleteCheck,
    ordersDeletes: Boolean = false
) {

  /** Positions of the columns that hold the ordering fields, one for each. */
  val orderingOrdinals: Array[Int] = ordering.map(_.ordinal)

  def key(row: InternalRow): UTF8String = row.getUTF8String(keyOrdinal)

  /** Fills `record` with a row as it was read or came in. */
  def fill(record: Version, row: InternalRow): Version = record.set(row, deletes.isDelete(row), isUnconditional = false)

  /**
   * The same for a row that provides some of the columns. A delete provides none, and if an ordering field is not among
   * those provided it has no ordering value, unless deletes always have one.
   *
   * @param provided which columns, by position; null for all
   * @param inserts  whether it is inserted, with nulls in the other columns, if its key is not stored
   */
  def fill(record: Version, row: InternalRow, provided: Array[Boolean], inserts: Boolean): Version = {
    fill(record, row)
    if (provided != null) {
      if (record.isDelete) record.isUnconditional = !ordersDeletes && orderingOrdinals.exists(!provided(_))
      else {
        record.provided = provided
        record.inserts = inserts
      }
    }
    record
  }
}

object RowLayout {

  /** A column's value, or null. Rows of column batches do not check for nulls themselves, and return 0 or false. */
  def valueAt(row: InternalRow, ordinal: Int, dataType: DataType): Any =
    if (row.isNullAt(ordinal)) null else row.get(ordinal, dataType)

  /**
   * @param keyColumn      name of the column that holds the record key
   * @param orderingFields names of the ordering fields; each is a column of the schema, or a field inside one
   * @param markers        columns and values that mark a delete, if the table has them
   * @throws IllegalStateException if one of them is not a column of the schema
   */
  def apply(
      schema: StructType,
      keyColumn: String,
      orderingFields: Seq[String],
      markers: Iterable[DeleteMarker]
  ): RowLayout = {
    def found(column: String): OrderingField = OrderingField.find(schema, column).getOrElse(
      throw new IllegalStateException(s"column '$column' is not among ${schema.fieldNames.mkString(", ")}"))
    RowLayout(schema, found(keyColumn).ordinal, orderingFields.map(found).toArray, DeleteCheck(schema, markers))
  }
}
