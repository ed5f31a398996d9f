package io.merganser.table.log

import java.nio.charset.StandardCharsets.US_ASCII

/**
 * The bytes of a log file: blocks one after the other, all integers big-endian.
 *
 * {{{
 * magic(6) length(8) version(4) type(4) header content-length(8) content footer pointer(8)
 * }}}
 *
 * The length counts everything after itself; the pointer is the length and the magic. Header and footer are maps:
 * count(4), then per entry key(4) size(4) UTF-8 bytes. The footer is empty.
 */
private[log] object LogFormat {
  val Magic: Array[Byte] = "#HUDI#".getBytes(US_ASCII)
  val Version            = 1

  /** Version of the content of data and delete blocks. */
  val ContentVersion = 3

  /** From the block's start to the length's end. */
  val PrefixBytes: Int = Magic.length + 8

  /** The least that a block's length can say: no header, no content. */
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

    /** Those that are looked at; others may be long. */
    val Read: Set[Int] = Set(InstantTime, TargetInstantTime, Schema, CommandType, CompactedBlockTimes, IsPartial)
  }

  /** COMMAND_BLOCK_TYPE of a rollback. */
  val Rollback = "0"
}
