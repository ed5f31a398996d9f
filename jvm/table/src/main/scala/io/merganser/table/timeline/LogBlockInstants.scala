package io.merganser.table.timeline

import java.io.EOFException
import java.nio.charset.StandardCharsets.UTF_8

import io.merganser.table.Storage
import org.apache.hadoop.fs.FSDataInputStream

import scala.collection.mutable

/**
 * Which writes a log file holds blocks of. In version 6 several share a file and its name tells none of them; the headers
 * of the blocks do.
 */
private[timeline] object LogBlockInstants {

  private val Magic          = "#HUDI#".getBytes(UTF_8)
  private val InstantKey     = 0
  private val MaxHeaderBytes = 64 * 1024 * 1024

  /** None if some of the file is not understood, so that nobody may say whose it is. */
  def of(storage: Storage, file: String): Option[Set[String]] = storage.status(file).flatMap { status =>
    val in    = storage.fs.open(status.getPath)
    val found = mutable.Set.empty[String]
    try {
      while (in.getPos < status.getLen) found ++= block(in, status.getLen)
      Some(found.toSet)
    } catch { case _: NotUnderstood | _: EOFException => None }
    finally in.close()
  }

  /** Reads one block's header and goes to the block's end. */
  private def block(in: FSDataInputStream, fileSize: Long): Option[String] = {
    val magic = new Array[Byte](Magic.length)
    in.readFully(magic)
    require(magic.sameElements(Magic))
    val length = in.readLong()
    val end    = in.getPos + length
    require(length >= 0 && end <= fileSize)
    in.readInt() // format version
    in.readInt() // block type
    var instant = Option.empty[String]
    var entries = in.readInt()
    while (entries > 0) {
      val key  = in.readInt()
      val size = in.readInt()
      require(size >= 0 && size <= MaxHeaderBytes)
      val value = new Array[Byte](size)
      in.readFully(value)
      if (key == InstantKey) instant = Some(new String(value, UTF_8))
      entries -= 1
    }
    in.seek(end)
    instant
  }

  private def require(understood: Boolean): Unit = if (!understood) throw new NotUnderstood

  private final class NotUnderstood extends RuntimeException
}
