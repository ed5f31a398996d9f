package io.merganser.merge.payload

import io.merganser.merge._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.Assertion

/** A payload's rule on the table of [[Notation]], ordered by ts. */
abstract class PayloadSuite(payload: ClassicPayload) extends MergeSuite {
  override val rule: MergeRule = new PartialRule(payload.rule(Notation.layout, Nil), Notation.layout)

  /** Checks the result of combining a batch of a key, before it is merged with the stored row. */
  def assertBatch(versions: String, expected: String): Assertion = {
    val combined = Notation.changes(versions).map(Notation.record).reduceLeft(fold.combine(_, _))
    assert(Notation.read(combined).toString == expected)
  }
}

class OverwriteWithLatestSuite extends PayloadSuite(OverwriteWithLatest) {

  test("the newer version overwrites the stored row, whatever its ordering value, as a whole") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@4=c", "Updated k1@4=c")
    assertOutcomes(base = "k1@10=a,b", versions = "k1@4-", "Deleted k1")
    assertMerged(base = "k1@10=a", versions = "k1@12- k1@3=b", expected = "k1@3=b")
  }

  test("in a batch the greatest ordering value wins, on a tie the later version") {
    assertBatch("k1@3=p k1@2=q", expected = "k1@3=p")
    assertBatch("k1@3=p k1@3=q", expected = "k1@3=q")
    assertBatch("k1@3- k1@2=q", expected = "k1@3-")
    assertBatch("k1@null=p k1@-5=q k1@null=r", expected = "k1@-5=q")
  }

  test("without ordering fields a batch results in its last version") {
    val layout = RowLayout(Notation.schema, "k", Nil, None)
    val fold   = MergePaths.fold(OverwriteWithLatest.rule(layout, Nil))
    assert(Notation.read(fold.combine(Notation.record("k1@3=p"), Notation.record("k1@2=q"))).toString == "k1@2=q")
  }
}

class EventTimePayloadSuite extends PayloadSuite(EventTime) {

  test("the larger ordering value wins in a batch as against the stored row; on a tie the newer version") {
    assertMerged(base = "k1@10=a", versions = "k1@9=b", expected = "k1@10=a")
    assertMerged(base = "k1@10=a", versions = "k1@10=b", expected = "k1@10=b")
    assertMerged(base = "k1@10=a", versions = "k1@9-", expected = "k1@10=a")
    assertBatch("k1@3=p k1@2=q", expected = "k1@3=p")
  }

  test("a stored null ordering value loses against any other") {
    assertMerged(base = "k1@null=a", versions = "k1@-3=b", expected = "k1@-3=b")
  }
}

class ReverseOrderSuite extends PayloadSuite(ReverseOrder) {

  test("the smaller ordering value wins in a batch as against the stored row; on a tie the newer version") {
    assertMerged(base = "k1@10=a", versions = "k1@9=b", expected = "k1@9=b")
    assertMerged(base = "k1@10=a", versions = "k1@11=b", expected = "k1@10=a")
    assertMerged(base = "k1@10=a", versions = "k1@10=b", expected = "k1@10=b")
    assertMerged(base = "k1@10=a", versions = "k1@11-", expected = "k1@10=a")
    assertBatch("k1@3=p k1@2=q", expected = "k1@2=q")
  }

  test("a null ordering value loses in the reversed order too") {
    assertMerged(base = "k1@null=a", versions = "k1@30=b", expected = "k1@30=b")
    assertMerged(base = "k1@30=a", versions = "k1@null=b", expected = "k1@30=a")
  }
}

class CommitOrderSuite extends PayloadSuite(CommitOrder) {

  test("the newer version wins in a batch as against the stored row, whatever the ordering values") {
    assertMerged(base = "k1@10=a,b", versions = "k1@4=c", expected = "k1@4=c")
    assertBatch("k1@3=p k1@2=q", expected = "k1@2=q")
    assert(CommitOrder.orderingFields(Seq("ts")).isEmpty)
  }
}

class OverwriteNonDefaultsSuite extends PayloadSuite(OverwriteNonDefaults) {

  test("values of the newer version overwrite the stored ones at any ordering value") {
    assertMerged(base = "k1@10=a,b", versions = "k1@4=c", expected = "k1@4=c,b")
    assertMerged(base = "k1@10=a,b", versions = "k1@null=null,d", expected = "k1@10=a,d")
  }

  test("a delete removes the row at any ordering value, and later rows are not filled with older values") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@4-", "Deleted k1")
    assertMerged(base = "k1@10=a,b", versions = "k1@4- k1@3=c", expected = "k1@3=c")
  }

  test("versions of a batch are combined without merging their columns") {
    assertBatch("k1@3=p k1@2=null,q", expected = "k1@3=p")
    assertBatch("k1@2=null,q k1@3=p", expected = "k1@3=p")
  }
}

class PartialUpdateSuite extends PayloadSuite(PartialUpdate) {

  test("the larger ordering value wins, and its nulls take the other's values; it keeps its ordering value") {
    assertMerged(base = "k1@5=a,b", versions = "k1@6=c", expected = "k1@6=c,b")
    assertMerged(base = "k1@5=a", versions = "k1@4=c,d", expected = "k1@5=a,d")
    assertMerged(base = "k1@5=a,b", versions = "k1@5=null,d", expected = "k1@5=a,d")
  }

  test("a delete removes the stored row at any ordering value") {
    assertOutcomes(base = "k1@5=a,b", versions = "k1@4-", "Deleted k1")
    assertOutcomes(base = "k1@5=a,b", versions = "k1@null-", "Deleted k1")
  }

  test("after a delete the larger ordering value wins and is not filled with older values") {
    assertMerged(base = "k1@5=a,b", versions = "k1@6- k1@7=c", expected = "k1@7=c")
    assertMerged(base = "k1@5=a,b", versions = "k1@6- k1@4=c", expected = "")
    assertMerged(base = "k1@5=a,b", versions = "k1@3- k1@4=c", expected = "k1@4=c")
  }

  test("inside a batch columns are merged, and a delete competes by its ordering value") {
    assertBatch("k1@3=p k1@2=null,q", expected = "k1@3=p,q")
    assertBatch("k1@3=p,q k1@2-", expected = "k1@3=p,q")
    assertBatch("k1@3- k1@2=p", expected = "k1@3-")
  }

  test("grouping matters: a late version would fill a null that the stored row has a value for") {
    val (stored, winner, late) =
      (Notation.record("k1@5=a,b"), Notation.record("k1@7=null,c"), Notation.record("k1@6=x,y"))
    assert(Notation.read(fold.merge(fold.merge(stored, winner), late)).toString == "k1@7=a,c")
    assert(Notation.read(fold.merge(stored, fold.merge(winner, late))).toString == "k1@7=x,c")
    assert(!rule.laws.associative)
  }

  test("a delete merged after a history-ending version still ends history") {
    val fresh = fold.merge(Notation.record("k1-"), Notation.record("k1@9=a"))
    assert(fold.merge(fresh, Notation.record("k1@4-")).endsHistory)
    assert(fold.merge(Notation.record("k1-"), Notation.record("k1@4-")).endsHistory)
  }

  test("without ordering fields the newer version wins") {
    val rule = PartialUpdate.rule(RowLayout(Notation.schema, "k", Nil, None), Nil)
    assert(Notation.read(MergePaths.fold(rule).merge(Notation.record("k1@9=a,b"), Notation.record("k1@3=c")))
      .toString == "k1@3=c,b")
    assert(rule.laws.associative)
  }
}

class AwsDmsSuite extends PayloadSuite(AwsDms) {

  test("a change overwrites the stored row, whatever its ordering value; in a batch the greatest is picked") {
    assertMerged(base = "k1@5=a", versions = "k1@4=b", expected = "k1@4=b")
    assertOutcomes(base = "k1@5=a", versions = "k1@4-", "Deleted k1")
    assertMerged(base = "k1@5=a", versions = "k1@6- k1@1=b", expected = "k1@1=b")
    assertBatch("k1@3- k1@2=f", expected = "k1@3-")
  }

  test("Op is D for a delete, in either case") {
    val schema = Notation.schema.add("Op", StringType)
    val check  = DeleteCheck(schema, AwsDms.markers)
    def isDelete(op: String) =
      check.isDelete(new GenericInternalRow(Array[Any](UTF8String.fromString("k1"), 1L, null, null,
            UTF8String.fromString(op))))
    assert(Seq("D", "d").forall(isDelete))
    assert(!Seq("U", "I", "DD", null).exists(isDelete))
  }
}

class PostgresDebeziumSuite extends PayloadSuite(PostgresDebezium) {
  private val unavailable = "__debezium_unavailable_value"

  test("the larger sequence number wins, deletes too") {
    assertMerged(base = "k1@100=a,b", versions = "k1@90=c,d", expected = "k1@100=a,b")
    assertMerged(base = "k1@100=a,b", versions = "k1@99-", expected = "k1@100=a,b")
    assertOutcomes(base = "k1@100=a,b", versions = "k1@100-", "Deleted k1")
    assertMerged(base = "k1@100=a", versions = "k1@110- k1@105=b", expected = "")
  }

  test("an unavailable value takes the stored value, and a null stays null") {
    assertMerged(base = "k1@100=a,b", versions = s"k1@110=$unavailable,null", expected = "k1@110=a,null")
    assertMerged(base = "k1@100=a,b", versions = s"k1@110=$unavailable,c k1@120=d,$unavailable",
      expected = "k1@120=d,c")
  }

  test("a stored row that wins is not filled from a late version") {
    assertMerged(base = s"k1@100=$unavailable,b", versions = "k1@90=c,d", expected = s"k1@100=$unavailable,b")
  }

  test("an unavailable value after a delete stays unavailable") {
    assertMerged(base = "k1@100=a,b", versions = s"k1@110- k1@120=$unavailable,c", expected = s"k1@120=$unavailable,c")
  }

  test("versions of a batch are combined without filling unavailable values") {
    assertBatch(s"k1@100=text,a k1@101=$unavailable,b", expected = s"k1@101=$unavailable,b")
  }

  test("grouping matters, as an unavailable value would be filled from a late version") {
    val (stored, late, newest) =
      (Notation.record("k1@100=a,b"), Notation.record("k1@90=c,d"), Notation.record(s"k1@110=$unavailable,e"))
    assert(Notation.read(fold.merge(fold.merge(stored, late), newest)).toString == "k1@110=a,e")
    assert(Notation.read(fold.merge(stored, fold.merge(late, newest))).toString == "k1@110=c,e")
    assert(!rule.laws.associative)
  }
}

class MySqlDebeziumSuite extends org.scalatest.funsuite.AnyFunSuite {
  private val schema =
    StructType(Seq(StructField("k", StringType), StructField("_event_seq", StringType), StructField("v", StringType)))
  private val layout = RowLayout(schema, "k", MySqlDebezium.orderingFields(Nil), MySqlDebezium.markers)
  private val rule   = MySqlDebezium.rule(layout, Nil)
  private val order  = new BinaryLogOrder(1)

  private def row(seq: String): InternalRow = new GenericInternalRow(Array[Any](UTF8String.fromString("k1"),
      UTF8String.fromString(seq), UTF8String.fromString("v")))

  private def version(seq: String, isDelete: Boolean = false) =
    new Version().set(row(seq), isDelete, isUnconditional = false)

  private def assertBefore(smaller: String, larger: String): Assertion = {
    assert(order.compare(row(smaller), row(larger)) < 0, s"$smaller, $larger")
    assert(order.compare(row(larger), row(smaller)) > 0, s"$larger, $smaller")
  }

  test("positions compare as numbers: the file first, then the offset") {
    assertBefore("000002.9", "000002.10")
    assertBefore("000009.99", "000010.1")
    assertBefore("2.10", "000003.1")
    assertBefore("999999.1", "1000000.1")
    assertBefore("1.99999999999999999999", "1.100000000000000000000")
    assert(order.compare(row("000002.50"), row("2.050")) == 0)
  }

  test("null is smaller than any string that is no position, and positions are the largest") {
    assertBefore(null, "mysql-bin.1")
    assertBefore(null, "0.0")
    assertBefore("mysql-bin.1", "mysql-bin.2")
    assertBefore("mysql-bin.1", "000001.1")
    assertBefore("", "0.0")
    assertBefore("1.", "0.0")
    assertBefore("1", "1.0")
    assert(order.compare(row(null), row(null)) == 0)
  }

  test("the larger position wins in a batch as against the stored row, deletes too; on a tie the newer version") {
    val (stored, late, next) = (version("000002.50"), version("000002.9"), version("000010.1"))
    for (merge <- Seq[(Version, Version) => Version](rule.merge, rule.combine)) {
      assert(merge(stored, late) eq stored)
      assert(merge(stored, next) eq next)
      val (lateDelete, delete) = (version("000002.49", isDelete = true), version("000002.50", isDelete = true))
      assert(merge(stored, lateDelete) eq stored)
      assert(merge(stored, delete) eq delete)
      assert(merge(version("000002.51", isDelete = true), stored).isDelete)
    }
  }

  test("only the operation d is a delete") {
    val check = DeleteCheck(schema.add("_change_operation_type", StringType), MySqlDebezium.markers)
    def isDelete(op: String) =
      check.isDelete(new GenericInternalRow(Array[Any](null, null, null, UTF8String.fromString(op))))
    assert(isDelete("d") && !isDelete("D") && !isDelete("u") && !isDelete(null))
  }

  test("a Debezium payload ignores the table's ordering fields, unlike AWS DMS") {
    assert(MySqlDebezium.orderingFields(Seq("ts")) == Seq("_event_seq"))
    assert(PostgresDebezium.orderingFields(Nil) == Seq("_event_lsn"))
    assert(AwsDms.orderingFields(Seq("ts")) == Seq("ts"))
  }
}

/** The examples by which the payload classes are documented: columns id, ts, name, price. */
class DocumentedExamplesSuite extends org.scalatest.funsuite.AnyFunSuite {

  private val examples = Seq[(ClassicPayload, String, String, String)](
    (OverwriteWithLatest, "1@2=name_2,price_2", "1@1=name_1,price_1", "1@1=name_1,price_1"),
    (EventTime, "1@2=name_2,price_2", "1@1=name_1,price_1", "1@2=name_2,price_2"),
    (OverwriteNonDefaults, "1@2=name_2,price_2", "1@1=null,price_1", "1@1=name_2,price_1"),
    (PartialUpdate, "1@1=name_1,price_1", "1@2=null,price_2", "1@2=name_1,price_2"),
    (PartialUpdate, "1@2=name_1,null", "1@1=null,price_1", "1@2=name_1,price_1")
  )

  for ((payload, stored, incoming, expected) <- examples)
    test(s"$payload: stored $stored, incoming $incoming, is $expected") {
      val rule = payload.rule(Notation.layout, Nil)
      for ((path, merge) <- MergePaths.all)
        assert(
          Oracle.rows(MergePaths.lines(merge(Notation.changes(stored), Notation.changes(incoming), rule))).map(
            _.toString) == Seq(expected),
          path
        )
    }
}
