package io.merganser.table.log

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}

/**
 * The binary format of a log file: a sequence of blocks; all integers are big-endian.
 *
 * {{{
 * magic(6) length(8) version(4) type(4) header content-length(8) content footer pointer(8)
 * }}}
 *
 * The length counts all bytes after itself; the pointer is the length plus the size of the magic. Header and footer are
 * maps: count(4), then per entry key(4) size(4) UTF-8 bytes. The footer is empty.
 */
private[log] object LogFormat {
  val Magic: Array[Byte] = "#HUDI#".getBytes(US_ASCII)
  val Version            = 1

  /** Version of the content of data and delete blocks. */
  val ContentVersion = 3

  /** Bytes of magic and length. */
  val PrefixBytes: Int = Magic.length + 8

  /** The smallest possible length of a block: without header and content. */
  val SmallestLength: Int = 4 + 4 + 4 + 8 + 4 + 8

  object BlockType {
    val Command = 0
    val Delete  = 1
    val Avro    = 3
    val HFile   = 4
    val Parquet = 5
    val Cdc     = 6

    def name(ordinal: Int): String = ordinal match {
      case Command => "command"
      case Delete  => "delete"
      case Avro    => "Avro data"
      case HFile   => "HFile data"
      case Parquet => "Parquet data"
      case Cdc     => "CDC data"
      case -1      => "next"
      case other   => s"unknown (type $other)"
    }
  }

  object Header {
    val InstantTime         = 0
    val TargetInstantTime   = 1
    val Schema              = 2
    val CommandType         = 3
    val CompactedBlockTimes = 4
    val IsPartial           = 7

    /** The entries that are read; others may be long. */
    val Read: Set[Int] = Set(InstantTime, TargetInstantTime, Schema, CommandType, CompactedBlockTimes, IsPartial)
  }

  /** COMMAND_BLOCK_TYPE of a rollback. */
  val Rollback = "0"

  /** The bytes of a block before and after its content. */
  final case class Frame(head: Array[Byte], tail: Array[Byte])

  /** @param contentLength bytes between head and tail */
  def frame(blockType: Int, header: Seq[(Int, String)], contentLength: Long): Frame = {
    val entries = new ByteArrayOutputStream()
    val map     = new DataOutputStream(entries)
    map.writeInt(header.size)
    header.foreach { case (key, value) =>
      val bytes = value.getBytes(UTF_8)
      map.writeInt(key)
      map.writeInt(bytes.length)
      map.write(bytes)
    }
    val length       = 4L + 4L + entries.size + 8L + contentLength + 4L + 8L
    val (head, tail) = (new ByteArrayOutputStream(), new ByteArrayOutputStream())
    val start        = new DataOutputStream(head)
    start.write(Magic)
    start.writeLong(length)
    start.writeInt(Version)
    start.writeInt(blockType)
    entries.writeTo(start)
    start.writeLong(contentLength)
    val end = new DataOutputStream(tail)
    end.writeInt(0)
    end.writeLong(length + Magic.length)
    Frame(head.toByteArray, tail.toByteArray)
  }
}
