package io.merganser.merge

import org.apache.spark.sql.types.StructType

import java.util.{Map => JavaMap}
import scala.collection.JavaConverters._

/** Mergers defined by functions. */
object TestMergers {
  type Merge = (BufferedRecord, BufferedRecord, RecordContext) => BufferedRecord

  final class Of(full: Merge, partial: Option[Merge]) extends RecordMerger {

    override def getMergingStrategy: String = "61f81e26-7ebb-49da-af23-4d816bac7e03"

    override def merge(
        older: BufferedRecord,
        newer: BufferedRecord,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord = full(older, newer, context)

    override def partialMerge(
        older: BufferedRecord,
        newer: BufferedRecord,
        readerSchema: StructType,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord =
      partial.fold(super.partialMerge(older, newer, readerSchema, context, props))(_(older, newer, context))
  }

  private final class Source(full: Merge, partial: Option[Merge]) extends MergerSource {
    override def className: String    = "the.test.Merger"
    override def open(): RecordMerger = new Of(full, partial)
  }

  def rule(full: Merge, partial: Option[Merge] = None, isAssociative: Boolean = false): MergeRule =
    new CustomRule(new Source(full, partial), Notation.layout, Set.empty, java.util.Collections.emptyMap(),
      isAssociative)

  /** Event time, as a user would write it. */
  val eventTime: Merge = (older, newer, context) =>
    if (newer.isCommitTimeOrderingDelete || context.compareOrdering(newer, older) >= 0) newer else older

  /** Event time where versions provide only some columns. */
  val eventTimePartial: Merge = (older, newer, context) => {
    val provided = context.getSchema(newer).fieldNames.map(column => column -> context.getValue(newer, column)).toMap
    val merged   = context.mergeWithEngineRecord(older, provided.asJava)
    if (context.compareOrdering(merged, older) >= 0) merged else older
  }

  /** Concatenates the values of `v`: its result depends on both grouping and order. */
  val append: Merge = (older, newer, context) =>
    if (older.isDelete || newer.isDelete) newer
    else context.mergeWithEngineRecord(newer,
      Map("v" -> s"${context.getValue(older, "v")}${context.getValue(newer, "v")}").asJava)
}
