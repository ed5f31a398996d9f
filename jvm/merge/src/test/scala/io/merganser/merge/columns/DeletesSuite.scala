package io.merganser.merge.columns

import io.merganser.merge._
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** What a delete does to the columns of a row and of its groups; histories of it are in the suites of all rules. */
class DeletesSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("k STRING, ts INT, n INT, a STRING, at INT, b STRING, bt INT, op STRING")
  private val layout = RowLayout(schema, "k", Seq("ts"), Seq(DeleteMarker("op", "d")))

  private def foldOf(table: DeletePolicy, a: DeletePolicy, b: DeletePolicy): KeyFold = {
    val groups = Seq(ColumnGroup("a", Seq("a"), Seq("at"), a), ColumnGroup("b", Seq("b"), Seq("bt"), b))
    new KeyFold(new ColumnRule(layout, Map("n" -> ColumnFunction.Sum).getOrElse(_, ColumnFunction.Last), groups, Nil,
        table, Set("op")))
  }

  private def row(values: Any*): Version = {
    val own = values.map { case text: String => UTF8String.fromString(text); case other => other }
    layout.fill(new Version, new GenericInternalRow((UTF8String.fromString("k") +: own).toArray[Any]))
  }

  private val stored = row(5, 1, "a", 5, "b", 5, "u")

  private def after(fold: KeyFold, versions: Version*): String = {
    val result = versions.foldLeft(stored)((older, newer) => fold.merge(older, newer).copy())
    if (result.isDelete) "none" else result.row.toSeq(schema).drop(1).mkString(",")
  }

  import DeletePolicy._

  test("a delete resets the group whose ordering value it has, unless it is late-arriving there") {
    val fold = foldOf(RemoveRow, ResetGroup, Ignore)
    assert(after(fold, row(null, null, null, 6, null, null, "d")) == "5,1,null,6,b,5,u")
    assert(after(fold, row(null, null, null, 4, null, 9, "d")) == "5,1,a,5,b,5,u")
    assert(fold.merge(stored, row(4, null, null, null, null, 9, "d")) eq stored)
    assert(after(fold, row(6, null, null, null, null, null, "d")) == "none")
  }

  test("after a reset a late row of the group stays late, and functions begin again") {
    val fold = foldOf(ResetGroup, ResetGroup, Ignore)
    assert(after(fold, row(6, 7, null, 6, null, null, "d"), row(7, 3, "late", 5, null, null, "u")) ==
      "7,3,null,6,b,5,u")
    assert(after(fold, row(4, 7, null, 6, null, null, "d"), row(7, 3, "a2", 7, null, null, "u")) == "7,4,a2,7,b,5,u")
  }

  test("a delete that removes the row by a group ends history at any ordering value of the table") {
    val fold = foldOf(Ignore, RemoveRow, Ignore)
    assert(after(fold, row(null, null, null, 5, null, null, "d")) == "none")
    assert(after(fold, row(9, null, null, 4, null, null, "d")) == "5,1,a,5,b,5,u")
    assert(after(fold, row(null, null, null, 5, null, null, "d"), row(1, 2, "x", 1, "y", 1, "u")) == "1,2,x,1,y,1,u")
  }

  test("a delete without an ordering value removes the row under each policy") {
    for (policy <- DeletePolicy.all) {
      val delete = new Version().set(stored.row, isDelete = true, isUnconditional = true)
      assert(after(foldOf(policy, Ignore, Ignore), delete) == "none")
    }
  }

  test("a delete that does not provide the table's ordering field is late-arriving, not unconditional") {
    val fold                       = foldOf(RemoveRow, ResetGroup, Ignore)
    val provided                   = Array(true, false, false, true, true, false, false, true)
    val group                      = row(null, null, null, 6, null, null, "d").row
    def partial(layout: RowLayout) = layout.fill(new Version, group, provided, inserts = true)
    assert(after(fold, partial(layout.copy(ordersDeletes = true))) == "5,1,null,6,b,5,u")
    assert(partial(layout).isUnconditional)
  }

  test("a delete of a key that is not stored is buffered apart and has no effect") {
    val fold   = foldOf(Ignore, ResetGroup, Ignore)
    val delete = row(9, null, null, 9, null, null, "d")
    val both   = fold.addToLogs(delete.copy(), row(1, 2, "x", 1, null, null, "u"))
    assert(fold.alone(both).row.getInt(2) == 2 && !fold.alone(both).isDelete)
    assert(fold.onto(stored, both).row.getInt(2) == 3)
    assert(fold.alone(fold.addToLogs(row(1, 2, "x", 1, null, null, "u").copy(), delete)).row.isNullAt(3))
  }
}
