package io.merganser.merge.buffer

import io.merganser.merge.{Notation, ReusedRow, StringBytes, Version}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.mutable
import scala.util.Random

class KeyTableSuite extends AnyFunSuite {

  private def put(table: KeyTable, key: String): Version = {
    val record = Notation.record(s"$key@1=a")
    assert(table.find(UTF8String.fromString(key)) == -1)
    table.put(UTF8String.fromString(key), record)
    record
  }

  private def get(table: KeyTable, key: String): Version = {
    val entry = table.find(UTF8String.fromString(key))
    if (entry < 0) null else table.record(entry)
  }

  test("a key that was never put has no record") {
    assert(get(new KeyTable, "k1") == null)
  }

  test("the table grows, at most half full, and finds every key afterwards") {
    val table   = new KeyTable
    val keys    = (0 until 50000).map(i => s"k$i")
    val records = keys.map(key => key -> put(table, key))
    assert(table.size == keys.size)
    assert(table.capacity >= 2 * keys.size && Integer.bitCount(table.capacity) == 1)
    for ((key, record) <- records) assert(get(table, key) eq record)
    assert(get(table, "k50000") == null)
    var seen = 0
    table.foreach(_ => seen += 1)
    assert(seen == keys.size)
  }

  test("keys with equal hashes have records of their own") {
    val (a, b) = KeyTableSuite.collision
    val table  = new KeyTable
    assert(a != b && KeyTableSuite.hash(a) == KeyTableSuite.hash(b))
    val recordA = put(table, a)
    assert(get(table, b) == null)
    val recordB = put(table, b)
    assert((get(table, a) eq recordA) && (get(table, b) eq recordB))
    for (i <- 0 until 5000) put(table, s"k$i")
    assert((get(table, a) eq recordA) && (get(table, b) eq recordB))
  }

  test("a replaced record no longer needs the bytes of the old row") {
    val table  = new KeyTable
    val reused = new ReusedRow(Notation.schema.length)
    val old =
      new Version().set(reused.load(Notation.row(Notation.change("k1@1=a"))), isDelete = false, isUnconditional = false)
    table.put(Notation.layout.key(old.row), old)
    val replacement = Notation.record("k1@2=b")
    table.replace(table.find(UTF8String.fromString("k1")), Notation.layout.key(replacement.row), replacement)
    reused.overwrite()
    assert(get(table, "k1") eq replacement)
    assert(table.size == 1)
  }

  test("an empty key has a record") {
    val table  = new KeyTable
    val record = Notation.record(Notation.change("k1@1=a").copy(key = ""))
    table.put(UTF8String.EMPTY_UTF8, record)
    assert(get(table, "") eq record)
  }

  test("a cleared table is empty") {
    val table = new KeyTable
    for (i <- 0 until 2000) put(table, s"k$i")
    table.clear()
    assert(table.size == 0 && get(table, "k1") == null)
    table.foreach(record => fail(s"$record is left"))
  }
}

object KeyTableSuite {

  def hash(key: String): Int = {
    val bytes = UTF8String.fromString(key)
    StringBytes.hash(bytes.getBaseObject, bytes.getBaseOffset, bytes.numBytes)
  }

  /** Two keys with the same hash. */
  lazy val collision: (String, String) = {
    val random = new Random(1)
    val seen   = mutable.HashMap.empty[Int, String]
    Iterator
      .continually(random.alphanumeric.take(8).mkString)
      .flatMap(key => seen.put(hash(key), key).filter(_ != key).map(_ -> key))
      .next()
  }
}
