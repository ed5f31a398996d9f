package io.merganser.merge

import org.apache.spark.sql.types.StructType

import java.util.{ArrayList, Collections, LinkedHashSet, List => JavaList, Map => JavaMap}
import scala.annotation.nowarn

/**
 * A user's own merge rule, for Scala and Java: it merges two versions of a row.
 *
 * A table created with merge mode `CUSTOM` and a strategy id is merged by the class that has this id, on every path:
 * rows of one batch, a write over stored rows, compaction, and reads that merge logs. Nothing is assumed of it but what
 * [[isAssociative]] states: the versions of a key are folded one after the other in commit order, the stored row first.
 * It is not called for a key that has only one version.
 *
 * The class needs a public constructor without arguments. Each task makes its own instance and calls it from one
 * thread; tasks share nothing, so a result must depend on the arguments alone.
 *
 * '''Deletes''' are records too, never null: `isDelete` is true and there is no data, whether the delete is by key, by
 * column or a merger's result. The merger decides whether a newer delete wins. After a delete without ordering value
 * the key's history has ended: the next version is the row, and the merger is not called. After a delete with an
 * ordering value the merger decides whether the next version brings the key back, but never with a column from
 * before the delete.
 *
 * '''Rows''' are reused by readers: neither record of a call, nor its data, may be kept beyond the call without
 * [[RecordContext.copy]]. Return one of the two records itself, rather than a copy, if it does not change: a stored
 * row that is returned does not count as changed.
 *
 * An exception fails the task, and with it the write or the query: nothing is committed. The error names the record
 * key, both versions, the class and the file group.
 */
trait RecordMerger {

  /**
   * Merges two versions that provide all columns, or are deletes.
   *
   * @param older   the version committed, or arrived, first
   * @param newer   the version after it
   * @param context reads records and makes new ones
   * @param props   the table's properties; those stored below `hoodie.record.merge.property.` also by their short
   *                names. The same on every path, and not to be changed
   * @return one of the two, or a record that `context` made, which then provides all columns or is a delete; never null
   */
  def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord

  /**
   * Merges two versions of which at least one provides only some of the columns.
   *
   * @param readerSchema all columns, including those that neither version provides
   * @return a record that provides the columns of both versions and no other, or a delete; never null
   * @throws UnsupportedOperationException unless the class overrides it
   */
  @nowarn("cat=unused-params")
  def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    throw new UnsupportedOperationException(
      s"${getClass.getName} does not override partialMerge: it merges whole rows only")

  /** The kind of rows it merges; a class for rows other than Spark's is ignored. */
  def getRecordType: RecordType = RecordType.SPARK

  /** Id of the rule, a UUID that its author generates. The table stores it, and selects its merger by it. */
  def getMergingStrategy: String

  /**
   * True if grouping does not matter when rows are merged: `(a b) c` equals `a (b c)`. Rows of a batch and of logs are
   * then merged with each other before the stored row is known, and need the memory of one row; deletes and partial
   * versions are not. Each write checks it on random rows; `check_rule` checks it on more, and on rows of the table.
   */
  def isAssociative: Boolean = false

  /** True if the rule reads only the mandatory columns, so that reads need not fetch other columns for it. */
  def isProjectionCompatible: Boolean = false

  /**
   * Columns that a projection compatible merger needs, besides those that a query requests.
   *
   * @param schema the table's columns
   * @return the record key's columns and the ordering fields, unless the class overrides it
   */
  def getMandatoryFieldsForMerging(schema: StructType, props: JavaMap[String, String]): JavaList[String] =
    RecordMerger.keyAndOrderingFields(schema, props)
}

object RecordMerger {
  private val Properties =
    Seq("hoodie.table.recordkey.fields", "hoodie.table.ordering.fields", "hoodie.table.precombine.field")

  private def keyAndOrderingFields(schema: StructType, props: JavaMap[String, String]): JavaList[String] = {
    val fields = new LinkedHashSet[String]
    for (key <- Properties; value <- Option(props.get(key)); field <- value.split(',')) fields.add(field.trim)
    fields.retainAll(java.util.Arrays.asList(schema.fieldNames: _*))
    Collections.unmodifiableList(new ArrayList[String](fields))
  }
}
