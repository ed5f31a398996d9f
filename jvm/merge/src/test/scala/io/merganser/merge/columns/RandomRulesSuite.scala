package io.merganser.merge.columns

import io.merganser.merge._
import io.merganser.merge.buffer.{MergeIterator, SortedMerge, VersionBuffer, VersionCursor}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.util.Random

// Guarantee (Merge rules): Any declared rule gives what a fold of plain values gives: read by key, sorted, after a log
//   compaction and copy-on-write.
/**
 * Declared rules drawn at random: functions of all columns, groups with their own ordering fields, what deletes do to
 * each part, retractions. Random histories give what a fold of plain values gives, on each path.
 */
class RandomRulesSuite extends AnyFunSuite {
  import RandomRulesSuite._

  private val count = if (sys.env.get("MERGANSER_FULL").contains("1")) 300 else 24

  /** Each name of a function, policy and group that was drawn. */
  private val drawn = scala.collection.mutable.Set.empty[String]

  for (part <- 0 until 3)
    test(s"rules ${part + 1} of 3: each path gives the fold, whatever the functions, groups, deletes and retractions") {
      for (number <- part until count by 3) {
        val random = new Random(Histories.seed * 1000 + number)
        val rule   = RandomRule(random, number)
        drawn ++= rule.names
        for (_ <- 0 until 4) {
          val (base, batches) = history(rule, random)
          val expected        = batches.flatten.foldLeft(base)(rule.step)
          val clue            = s"seed ${Histories.seed}, rule $number: $rule\n$base\n${batches.mkString("\n")}"
          for ((path, result) <- paths(rule, base, batches))
            assert(result == shown(expected), s"$path: $clue")
        }
      }
    }

  test("random rules draw every function, group, delete policy and retraction") {
    val all = ColumnFunction.names.map(_.takeWhile(_ != '(')) ++ DeletePolicy.all.map(_.text) ++
      DeletePolicy.all.map("group " + _.text) :+ "retract"
    assert(all.filterNot(drawn).isEmpty)
  }

  private def history(rule: RandomRule, random: Random): (Table, Seq[Seq[Change]]) = {
    val keys = Seq("a", "b")
    val base = keys.filter(_ => random.nextBoolean()).map(key => key -> rule.values(random)).toMap
    (base, Seq.fill(3)(Seq.fill(1 + random.nextInt(4))(rule.change(random, keys(random.nextInt(2))))))
  }

  private def paths(rule: RandomRule, base: Table, batches: Seq[Seq[Change]]): Seq[(String, Map[String, String])] = {
    val layout                           = rule.layout
    def fold                             = new KeyFold(rule.compiled)
    def rows(table: Table)               = table.toSeq.sortBy(_._1).map { case (key, of) => rule.row(key, of) }
    def inKeyOrder(changes: Seq[Change]) = new Cursor(rule, changes.sortBy(_.key))
    def buffer(from: VersionCursor): VersionBuffer = {
      val made = new VersionBuffer(layout, fold, Long.MaxValue)
      while (from.next()) made.add(from.record)
      made
    }
    def written(table: Table): Table = batches.foldLeft(table)((now, batch) =>
      tableOf(SortedMerge.rewrite(rows(now).iterator, inKeyOrder(batch), layout, fold)))
    val all = batches.flatten
    def compacted = {
      val log    = buffer(new Cursor(rule, batches.init.flatten)).emitted()
      val merged = new VersionBuffer(layout, fold, Long.MaxValue)
      while (log.next()) merged.add(log.winner)
      val last = new Cursor(rule, batches.last)
      while (last.next()) merged.add(last.record)
      merged.merge(rows(base).iterator, baseSorted = true)
    }
    Seq(
      "a read by key" -> buffer(new Cursor(rule, all)).merge(rows(base).iterator, baseSorted = false),
      "a sorted read" -> SortedMerge.ofLogs(rows(base).iterator, inKeyOrder(all), layout, fold),
      "a log compaction, then a read" -> compacted
    ).map { case (path, merge) => path -> shown(tableOf(merge)) } :+ ("copy-on-write" -> shown(written(base)))
  }
}

private object RandomRulesSuite {
  type Values = Map[String, Any]
  type Table  = Map[String, Values]

  val Schema: StructType = StructType.fromDDL("k STRING, ts INT, n BIGINT, i INT, s STRING, b BOOLEAN, " +
    "xs ARRAY<INT>, m MAP<STRING, INT>, g1 INT, g2 INT, op STRING")
  private val Data = Seq("n", "i", "s", "b", "xs", "m")

  sealed trait Kind
  case object Row extends Kind
  case object Delete extends Kind
  case object Unconditional extends Kind
  case object Retract extends Kind

  final case class Change(key: String, kind: Kind, values: Values)

  /** Makes a value of the older and the newer one, of the rows, and of whether the newer one is late-arriving. */
  type Of = (Any, Any, Values, Values, Boolean) => Any

  private def known(of: (Any, Any) => Any): Of = (a, b, _, _, _) => if (a == null) b else if (b == null) a else of(a, b)

  private def long(value: Any): Long = value.asInstanceOf[Number].longValue

  private def ofType(column: String, value: Long): Any = if (column == "i") value.toInt else value

  private def compare(a: Any, b: Any): Int = (a, b) match {
    case (x: String, y: String) => x.compareTo(y)
    case _                      => long(a).compareTo(long(b))
  }

  private val anyType: Seq[(String, Of)] = Seq(
    "last" -> ((a, b, _, _, late) => if (late) a else b),
    "last_non_null" -> ((a, b, _, _, late) => if (late) Option(a).getOrElse(b) else Option(b).getOrElse(a)),
    "first" -> ((a, _, _, _, _) => a),
    "first_non_null" -> ((a, b, _, _, _) => Option(a).getOrElse(b))
  )

  private def extremes: Seq[(String, Of)] = Seq("min" -> known((a, b) => if (compare(a, b) <= 0) a else b),
    "max" -> known((a, b) => if (compare(a, b) >= 0) a else b))

  private def numbers(column: String): Seq[(String, Of)] = Seq(
    "sum" -> known((a, b) => ofType(column, long(a) + long(b))),
    "product" -> known((a, b) => ofType(column, long(a) * long(b)))
  ) ++ extremes

  private val ofColumns: Map[String, Seq[(String, Of)]] = Map(
    "n" -> (numbers("n") ++ Seq[(String, Of)]("expr('old.n - new.n')" -> ((a, b, _, _, _) =>
      if (a == null || b == null) null else long(a) - long(b)))),
    "i" -> (numbers("i") ++ Seq[(String, Of)]("expr('if(new.b, new.i, old.i)')" -> ((a, b, _, newer, _) =>
      if (newer("b") == true) b else a))),
    "s" -> (extremes ++ Seq[(String, Of)](
      "concat" -> known((a, b) => s"$a$b"),
      "concat('+')" -> known((a, b) => s"$a+$b"),
      "expr('concat_ws(''/'', old.s, new.s)')" -> ((a, b, _, _, _) =>
        Seq(a, b).filter(_ != null).mkString("/"))
    )),
    "b" -> Seq[(String, Of)](
      "bool_and" -> known((a, b) => a == true && b == true),
      "bool_or" -> known((a, b) => a == true || b == true),
      "expr('new.i > old.i')" -> ((_, _, older, newer, _) =>
        if (older("i") == null || newer("i") == null) null else long(newer("i")) > long(older("i")))
    ),
    "xs" -> Seq[(String, Of)](
      "collect" -> known((a, b) => a.asInstanceOf[Seq[Int]] ++ b.asInstanceOf[Seq[Int]]),
      "union" -> ((a, b, _, _, _) =>
        if (b == null) a
        else (Option(a).fold(Seq.empty[Int])(_.asInstanceOf[Seq[Int]]) ++ b.asInstanceOf[Seq[Int]]).distinct)
    ),
    "m" -> Seq[(String, Of)]("union" -> ((a, b, _, _, late) =>
      known((x, y) => {
        val (one, other) = (x.asInstanceOf[Map[String, Int]], y.asInstanceOf[Map[String, Int]])
        if (late) other ++ one else one ++ other
      })(a, b, null, null, late)))
  )

  /** By which a newer value is late-arriving; null is the smallest. */
  private def isLate(column: String, older: Values, newer: Values): Boolean = (older(column), newer(column)) match {
    case (null, _)    => false
    case (_, null)    => true
    case (one, other) => long(other) < long(one)
  }

  final case class RandomRule(
      functions: Map[String, (String, Of)],
      groups: Seq[ColumnGroup],
      delete: DeletePolicy,
      retracts: Boolean
  ) {
    private val clockOf: Map[String, String] =
      groups.flatMap(group => group.members.map(_ -> group.ordering.head)).toMap
        .withDefaultValue("ts")

    private val sums = functions.collect { case (column, ("sum", _)) => column }.toSeq

    private val ordersDeletes = delete != DeletePolicy.RemoveRow || groups.exists(_.delete != DeletePolicy.Ignore)

    val layout: RowLayout =
      RowLayout(Schema, "k", Seq("ts"), Seq(DeleteMarker("op", "d"))).copy(ordersDeletes = ordersDeletes)

    val compiled: MergeRule = new ColumnRule(layout,
      column => functions.get(column).fold[ColumnFunction](ColumnFunction.Last)(f => ColumnFunction.parse(f._1).get),
      groups, Nil, delete, Set("op"))

    def names: Seq[String] = functions.values.map(_._1.takeWhile(_ != '(')).toSeq ++ Seq(delete.text) ++
      groups.map("group " + _.delete.text) ++ (if (retracts) Seq("retract") else Nil)

    override def toString: String =
      s"${functions.map { case (column, (name, _)) => s"$column: $name" }.mkString(", ")}; $groups; delete $delete"

    /** The table after one more change. */
    def step(table: Table, change: Change): Table = (table.get(change.key), change.kind) match {
      case (None, Delete) | (_, Unconditional) => table - change.key
      case (None, Retract) =>
        val nulls = change.values.map { case (name, _) => name -> null }
        table + (change.key -> (nulls ++ sums.map(name => name -> change.values(name))))
      case (None, Row) => table + (change.key -> change.values)
      case (Some(older), Delete) =>
        deleted(older, change.values).fold(table - change.key)(r => table + (change.key -> r))
      case (Some(older), Retract) =>
        table + (change.key -> (older ++ sums.map(name => name -> merged(name, older, change.values, late = false))))
      case (Some(older), Row) =>
        table + (change.key -> older.map { case (name, _) =>
          name -> merged(name, older, change.values, isLate(clockOf(name), older, change.values))
        })
    }

    private def merged(name: String, older: Values, newer: Values, late: Boolean): Any =
      functions.get(name).map(_._2).getOrElse(anyType.head._2)(older(name), newer(name), older, newer, late)

    private def deleted(older: Values, newer: Values): Option[Values] = {
      val parts = ("ts" -> delete) +: groups.map(group => group.ordering.head -> group.delete)
      val concerned = parts.filter { case (clock, _) =>
        (clock == "ts" || newer(clock) != null) && !isLate(clock, older, newer)
      }
      if (concerned.exists(_._2 == DeletePolicy.RemoveRow)) None
      else {
        val reset = concerned.filter(_._2 == DeletePolicy.ResetGroup).map(_._1).toSet
        Some(older.map { case (name, value) =>
          name -> (if (name == "op" || !reset(clockOf(name))) value else if (reset(name)) newer(name) else null)
        })
      }
    }

    def values(random: Random): Values = {
      def often[T](value: => T): Any = if (random.nextInt(5) == 0) null else value
      def small                      = random.nextInt(5) - 2
      Map(
        "ts" -> often(random.nextInt(4)),
        "n" -> often(small.toLong),
        "i" -> often(small),
        "s" -> often(random.alphanumeric.head.toString),
        "b" -> often(random.nextBoolean()),
        "xs" -> often(Seq.fill(random.nextInt(3))(random.nextInt(4))),
        "m" -> often(Seq.fill(random.nextInt(3))(random.nextInt(3)).map(x => s"k$x" -> random.nextInt(9)).toMap),
        "g1" -> often(random.nextInt(4)),
        "g2" -> often(random.nextInt(4)),
        "op" -> "u"
      )
    }

    def change(random: Random, key: String): Change = {
      val drawn = values(random)
      random.nextInt(10) match {
        case 0 | 1 => Change(key, Delete, drawn + ("op" -> "d") + ("ts" -> random.nextInt(4)))
        case 2     => Change(key, Unconditional, drawn)
        case 3 | 4 if retracts =>
          Change(key, Retract,
            drawn.map { case (name, value) =>
              name -> (if (sums.contains(name) && value != null) ofType(name, -long(value)) else null)
            })
        case _ => Change(key, Row, drawn)
      }
    }

    def row(key: String, of: Values): InternalRow =
      UnsafeProjection.create(Schema)(new GenericInternalRow(Schema.fields.map(f =>
            if (f.name == "k") UTF8String.fromString(key) else catalyst(of(f.name))))).copy()

    def fill(version: Version, change: Change): Unit = {
      val own = row(change.key, change.values)
      change.kind match {
        case Unconditional => version.set(own, isDelete = true, isUnconditional = true)
        case Retract =>
          layout.fill(version, own, Schema.fieldNames.map(name => name == "k" || sums.contains(name)), inserts = true)
        case _ => layout.fill(version, own)
      }
      ()
    }
  }

  object RandomRule {

    /**
     * Every fourth rule takes retractions, which only some functions allow. The functions of the first rules are drawn
     * in turn, so that each is there.
     */
    def apply(random: Random, number: Int): RandomRule = {
      def one[T](of: Seq[T]): T = of(random.nextInt(of.size))
      val retracts              = number % 4 == 0
      val functions = Data.zipWithIndex.map { case (column, at) =>
        val all = anyType ++ ofColumns(column)
        column -> (if (retracts) one(all.filter { case (name, _) => ColumnFunction.parse(name).get.isRetractable })
                   else if (number < 24) all((number - number / 4 + at) % all.size)
                   else one(all))
      }.toMap
      // An expression reads columns of any group.
      val grouped = Data.map(column => column -> random.nextInt(3)).toMap
      val groups = Seq(1, 2).flatMap { at =>
        val columns = Data.filter(column => grouped(column) == at)
        if (columns.isEmpty || random.nextInt(4) == 0) None
        else Some(ColumnGroup(s"group$at", columns, Seq(s"g$at"), one(DeletePolicy.all)))
      }
      RandomRule(if (retracts) functions + ("n" -> ofColumns("n").head) else functions, groups, one(DeletePolicy.all),
        retracts)
    }
  }

  final class Cursor(rule: RandomRule, changes: Seq[Change]) extends VersionCursor {
    private val left             = changes.iterator
    override val record: Version = new Version

    override def next(): Boolean = left.hasNext && { rule.fill(record, left.next()); true }
  }

  private def catalyst(value: Any): Any = value match {
    case text: String     => UTF8String.fromString(text)
    case elements: Seq[_] => new GenericArrayData(elements.toArray[Any])
    case entries: Map[_, _] =>
      val (keys, values) = entries.toSeq.unzip
      new ArrayBasedMapData(new GenericArrayData(keys.map(catalyst).toArray[Any]),
        new GenericArrayData(values.toArray[Any]))
    case other => other
  }

  private def plain(value: Any, dataType: DataType): Any = value match {
    case null             => null
    case text: UTF8String => text.toString
    case array: ArrayData => array.toSeq[Any](dataType.asInstanceOf[ArrayType].elementType).toList
    case map: MapData =>
      map.keyArray().toSeq[Any](StringType).map(_.toString).zip(map.valueArray().toSeq[Any](IntegerType)).toMap
    case other => other
  }

  def tableOf(merge: MergeIterator): Table = {
    val rows = Map.newBuilder[String, Values]
    while (merge.next()) if (merge.isLive) {
      val row    = merge.row
      val values = Schema.indices.map(i => Schema(i).name -> plain(row.get(i, Schema(i).dataType), Schema(i).dataType))
      rows += values.head._2.toString -> values.tail.toMap
    }
    rows.result()
  }

  /** The same for equal rows: maps in the order of their keys. */
  def shown(table: Table): Map[String, String] = table.map { case (key, of) =>
    key -> Schema.fieldNames.tail.map { name =>
      of(name) match {
        case entries: Map[_, _] => entries.toSeq.map(_.toString).sorted.mkString(s"$name={", ",", "}")
        case elements: Seq[_]   => elements.mkString(s"$name=[", ",", "]")
        case other              => s"$name=$other"
      }
    }.mkString(" ")
  }
}
