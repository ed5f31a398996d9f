package io.merganser.merge

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * One version of a row of the test table (k, ts, v, w), as plain values.
 *
 * @param ts       ordering value; None is null
 * @param values   v and w; None is null
 * @param ordered  false for an unconditional delete
 * @param provided for a partial version, whether it has ts, v and w; empty for a full one
 * @param inserts  whether a partial version is inserted as a row where nothing is stored
 */
final case class Change(
    key: String,
    ts: Option[Long],
    values: Seq[Option[String]],
    isDelete: Boolean = false,
    ordered: Boolean = true,
    provided: Seq[Boolean] = Nil,
    inserts: Boolean = false
) {
  def isPartial: Boolean = provided.nonEmpty

  override def toString: String = {
    def has(i: Int)                  = !isPartial || provided(i)
    def text(i: Int, v: Option[Any]) = if (has(i)) v.getOrElse("null").toString else "_"
    val at                           = if (ordered) "@" + text(0, ts) else ""
    if (isDelete) s"$key$at-"
    else {
      val equals = if (inserts) "+=" else "="
      if (values(1).isEmpty && has(2)) s"$key$at$equals${text(1, values.head)}"
      else s"$key$at$equals${text(1, values.head)},${text(2, values(1))}"
    }
  }
}

/**
 * One word per version, separated by spaces: `k1@10=a` is a row, `k1@10=a,b` one with both columns (the second is null
 * if it is omitted), `k1@10-` a delete with an ordering value, `k1-` an unconditional delete. `null` is null, and `_` a
 * column that is not provided; `k1@10+=a,_` is inserted with null there if nothing is stored.
 */
object Notation {
  private val Word = """([^@=,]+?)(?:@(null|_|-?\d+))?(?:(\+)?=([^,]*)(?:,(.*))?|(-))""".r

  val schema: StructType = StructType(
    Seq(
      StructField("k", StringType, nullable = false),
      StructField("ts", LongType),
      StructField("v", StringType),
      StructField("w", StringType)
    )
  )

  val layout: RowLayout = RowLayout(schema, "k", Seq("ts"), None)

  def changes(text: String): Seq[Change] = text.trim.split("\\s+").toSeq.filter(_.nonEmpty).map(change)

  def change(word: String): Change = word match {
    case Word(key, ts, plus, v, w, dash) =>
      def value(text: String) = Option(text).filterNot(t => t == "null" || t == "_")
      val written             = Seq(ts, v, w)
      require(dash != null || ts != null, s"'$word' has no ordering value")
      Change(
        key,
        value(ts).map(_.toLong),
        Seq(value(v), value(w)),
        isDelete = dash != null,
        ordered = ts != null,
        provided = if (dash == null && written.contains("_")) written.map(_ != "_") else Nil,
        inserts = plus != null
      )
    case _ => throw new IllegalArgumentException(s"'$word' is not a version")
  }

  private val project = new ThreadLocal[UnsafeProjection] {
    override def initialValue(): UnsafeProjection = UnsafeProjection.create(schema)
  }

  def row(change: Change): UnsafeRow = {
    val text = (s: Option[String]) => s.map(UTF8String.fromString).orNull
    val ts   = change.ts.map(Long.box).orNull
    project
      .get()(new GenericInternalRow(Array[Any](UTF8String.fromString(change.key), ts, text(change.values.head),
            text(change.values(1)))))
      .copy()
  }

  /** Fills a record with the change, and with a row as a reader would return it. */
  def fill(record: Version, change: Change, row: InternalRow): Version = {
    record.set(row, change.isDelete, !change.ordered)
    if (change.isPartial) record.provided = (true +: change.provided).toArray
    record.inserts = change.isPartial && change.inserts
    record
  }

  def record(change: Change): Version = fill(new Version, change, row(change))

  def record(word: String): Version = record(change(word))

  /** A live row as a change. */
  def read(row: InternalRow): Change = {
    def text(i: Int) = if (row.isNullAt(i)) None else Some(row.getUTF8String(i).toString)
    require(row.numFields == schema.length, s"a row of ${row.numFields} columns is none of this table")
    Change(text(0).get, if (row.isNullAt(1)) None else Some(row.getLong(1)), Seq(text(2), text(3)))
  }

  /** The record as a change. */
  def read(record: Version): Change = {
    val provided = if (record.provided == null) Nil else record.provided.toSeq.tail
    read(record.row).copy(isDelete = record.isDelete, ordered = !record.isUnconditional, provided = provided,
      inserts = record.inserts)
  }
}
