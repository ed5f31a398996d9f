package io.merganser.spark.write.merge

import io.merganser.merge.payload.OverwriteWithLatest
import io.merganser.merge.{EventTimeRule, KeyFold, MergeRule, Notation, PartialRule, RowLayout, Versions}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Partial versions on their way into a log. */
class LoggedVersionsSuite extends AnyFunSuite {
  private val stored = RowLayout(StructType(Notation.schema.take(2)), "k", Seq("ts"), None)

  private def completed(rule: RowLayout => MergeRule, storedRows: String, versions: String): String = {
    val rows = Notation.changes(storedRows).iterator.map[InternalRow] { row =>
      new GenericInternalRow(Array[Any](UTF8String.fromString(row.key), row.ts.orNull))
    }
    val fold = new KeyFold(new PartialRule(rule(stored), stored))
    val log = new LoggedVersions(new Versions(Notation.changes(versions)), rows, stored, fold, Notation.layout,
      completesOrdering = true)
    Iterator.continually(log).takeWhile(_.next()).map(_.record).map(Notation.read(_).toString).mkString(" ")
  }

  test("a missing ordering value is taken from the row at that point by the table's rule") {
    val versions = "k1@5=a,_ k1@_=b,_"
    assert(completed(EventTimeRule(_), "k1@10=s", versions) == "k1@5=a,_ k1@10=b,_")
    assert(completed(OverwriteWithLatest.rule(_, Nil), "k1@10=s", versions) == "k1@5=a,_ k1@5=b,_")
    assert(completed(EventTimeRule(_), "k1@10=s", "k1@12=a,_ k1@_=b,_") == "k1@12=a,_ k1@12=b,_")
  }

  test("after a delete with an ordering value a missing one stays missing") {
    assert(completed(EventTimeRule(_), "k1@10=s", "k1@11- k1@_=b,_") == "k1@11- k1@_=b,_")
  }

  test("an inserting partial version of an invisible key is logged as a full row") {
    assert(completed(EventTimeRule(_), "", "k1@5+=a,_ k1@_+=b,_") == "k1@5=a k1@5+=b,_")
    assert(completed(EventTimeRule(_), "k1@10=s", "k1- k1@5+=a,_") == "k1- k1@5=a")
  }
}
