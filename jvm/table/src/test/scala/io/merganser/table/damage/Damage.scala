package io.merganser.table.damage

import java.nio.ByteBuffer

import scala.util.Random

/** The kinds of files of a table. */
object FileKind {
  private val Log  = """.*\.log\.\d+_[^/]*""".r
  private val Temp = ".hoodie/.temp/"

  def of(path: String): String = path match {
    case p if p.startsWith(".hoodie/hoodie.properties")            => "properties"
    case p if p.startsWith(Temp)                                   => "markers"
    case p if p.startsWith(".hoodie/.heartbeat/")                  => "heartbeat"
    case ".hoodie/lock"                                            => "lock"
    case p if p.startsWith(".hoodie/.schema/")                     => "schema history"
    case p if p.startsWith(".hoodie/.bucket_index/")               => "bucket metadata"
    case p if p.startsWith(".hoodie/.index_defs/")                 => "index definitions"
    case p if p.contains("/history/") || p.contains("/archived/")  => "archived history"
    case p if p.startsWith(".hoodie/") && p.endsWith(".requested") => "requested instant"
    case p if p.startsWith(".hoodie/") && p.endsWith("inflight")   => "inflight instant"
    case p if p.startsWith(".hoodie/")                             => "completed instant"
    case p if p.contains(".hoodie_partition_metadata")             => "partition metadata"
    case Log()                                                     => "log file"
    case p if p.endsWith(".parquet")                               => "base file"
    case _                                                         => "other"
  }
}

/**
 * One damage: what was done, and the files that it changed with their new content.
 *
 * @param isInPlace whether the file has its length, and most of its bytes, still
 */
final case class Damage(kind: String, at: String, changed: Map[String, Array[Byte]], isInPlace: Boolean) {
  def file: String = changed.keys.toSeq.minBy(_.length)

  override def toString: String = s"$kind at $at of ${changed.keys.toSeq.sorted.mkString(", ")}"
}

/** Draws damages of a table's files. */
final class Damages(table: MemoryTable, random: Random) {
  private val byKind = table.paths.groupBy(FileKind.of)

  /** Files with much content are drawn more often than those that are often empty. */
  private val kinds: Seq[String] = byKind.keys.toSeq.sorted.flatMap {
    case kind @ ("log file" | "base file")                                                 => Seq.fill(6)(kind)
    case kind @ "completed instant"                                                        => Seq.fill(5)(kind)
    case kind @ ("properties" | "archived history" | "schema history" | "bucket metadata") => Seq.fill(3)(kind)
    case kind                                                                              => Seq(kind)
  }

  def next(): Damage = {
    val files = byKind(kinds(random.nextInt(kinds.size)))
    val file  = files(random.nextInt(files.size))
    val bytes = table.bytes(file)
    def one(kind: String, at: Any, to: Array[Byte]) =
      Damage(kind, at.toString, Map(file -> to), to.length == bytes.length)
    if (bytes.isEmpty) one("garbage", 0, garbage(1 + random.nextInt(40)))
    else random.nextInt(20) match {
      case 0 | 1 | 2 | 3 =>
        val at = place(file, bytes)
        one("flipped bit", at, edited(bytes)(b => b(at) = (b(at) ^ (1 << random.nextInt(8))).toByte))
      case 4 | 5 | 6 =>
        val at = place(file, bytes)
        one("changed byte", at, edited(bytes)(b => b(at) = (b(at) + 1 + random.nextInt(255)).toByte))
      case 7 | 8 | 9 =>
        val length = if (random.nextInt(3) == 0) bytes.length - 1 - random.nextInt(math.min(20, bytes.length))
        else random.nextInt(bytes.length)
        one("truncation", length, bytes.take(length))
      case 10 | 11 =>
        val at = place(file, bytes)
        one("zeros", at, edited(bytes)(b => java.util.Arrays.fill(b, at, math.min(b.length, at + run()), 0.toByte)))
      case 12 | 13 | 14 =>
        val at = place(file, bytes)
        one("length field", at, edited(bytes)(put(_, at, lengths(random.nextInt(lengths.size)))))
      case 15 => one("extension", bytes.length, bytes ++ garbage(1 + random.nextInt(300)))
      case 16 => one("emptied", 0, Array.emptyByteArray)
      case 17 =>
        val at   = place(file, bytes)
        val some = bytes.slice(at, at + run())
        one("duplicated bytes", at, bytes.take(at) ++ some ++ bytes.drop(at))
      case 18 =>
        val blocks = starts(bytes)
        if (blocks.isEmpty) one("twice", 0, bytes ++ bytes)
        else {
          val from  = blocks(random.nextInt(blocks.size))
          val until = blocks.find(_ > from).getOrElse(bytes.length)
          one("duplicated block", from, bytes.take(until) ++ bytes.drop(from))
        }
      case _ =>
        val other = files(random.nextInt(files.size))
        val swap  = Map(file -> table.bytes(other), other -> bytes)
        Damage("swapped files", "0", swap, isInPlace = table.bytes(other).length == bytes.length)
    }
  }

  private def edited(bytes: Array[Byte])(edit: Array[Byte] => Unit): Array[Byte] = {
    val copy = bytes.clone()
    edit(copy)
    copy
  }

  private def garbage(length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    random.nextBytes(bytes)
    bytes
  }

  private def run(): Int = 1 + random.nextInt(if (random.nextBoolean()) 8 else 200)

  private def put(bytes: Array[Byte], at: Int, value: Array[Byte]): Unit =
    System.arraycopy(value, 0, bytes, at, math.min(value.length, bytes.length - at))

  /** As integers of 4 and 8 bytes in both orders, and as variable-length numbers of Avro and Thrift. */
  private val lengths: IndexedSeq[Array[Byte]] = {
    val ints  = Seq(Int.MaxValue, Int.MinValue, -1, 0, 1 << 30, 1 << 24, 0x7fffff00, -2)
    val longs = Seq(Long.MaxValue, Long.MinValue, -1L, 0L, 1L << 40, 1L << 31, Int.MaxValue.toLong)
    ints.flatMap(i => Seq(i, Integer.reverseBytes(i))).map(i => ByteBuffer.allocate(4).putInt(i).array) ++
      longs.map(l => ByteBuffer.allocate(8).putLong(l).array) ++
      Seq(Array(0xff, 0xff, 0xff, 0xff, 0x0f), Array(0xfe, 0xff, 0xff, 0xff, 0x0f), Array(0xff, 0xff, 0xff, 0x07),
        Array.fill(9)(0xff) :+ 0x01, Array(0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07), Array(0x01), Array(0x7f))
        .map(_.map(_.toByte))
  }.toIndexedSeq

  /** Half of the places are where the format has its structure. */
  private def place(file: String, bytes: Array[Byte]): Int = {
    val anywhere = random.nextInt(bytes.length)
    if (random.nextBoolean()) anywhere
    else FileKind.of(file) match {
      case "log file" =>
        val blocks = starts(bytes)
        if (blocks.isEmpty) anywhere
        else {
          val block = blocks(random.nextInt(blocks.size))
          val end   = blocks.find(_ > block).getOrElse(bytes.length)
          if (random.nextBoolean()) math.min(block + random.nextInt(60), bytes.length - 1)
          else math.max(0, end - 1 - random.nextInt(30))
        }
      case "base file" =>
        val length = if (bytes.length > 8) ByteBuffer.wrap(bytes, bytes.length - 8, 4)
          .order(java.nio.ByteOrder.LITTLE_ENDIAN).getInt + 8
        else 8
        math.max(0, bytes.length - 1 - random.nextInt(math.max(1, length)))
      case _ => random.nextInt(math.min(bytes.length, 100))
    }
  }

  private def starts(bytes: Array[Byte]): IndexedSeq[Int] = {
    val text  = new String(bytes, "ISO-8859-1")
    val first = text.indexOf("#HUDI#")
    Iterator.iterate(first)(at => text.indexOf("#HUDI#", at + 6)).takeWhile(_ >= 0).toIndexedSeq
  }
}
