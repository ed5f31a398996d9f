package io.merganser.table.storage

import org.apache.parquet.io.{OutputFile, PositionOutputStream}

import java.io.OutputStream
import scala.collection.mutable.ArrayBuffer

/** A Parquet file in memory, in fixed-size chunks, so that growing copies nothing. */
private[table] final class MemoryFile(name: String) extends OutputFile {
  private[this] val full  = ArrayBuffer.empty[Array[Byte]]
  private[this] var piece = new Array[Byte](MemoryFile.PieceBytes)
  private[this] var used  = 0

  def sizeBytes: Long = full.size.toLong * MemoryFile.PieceBytes + used

  def writeTo(out: OutputStream): Unit = {
    full.foreach(out.write)
    out.write(piece, 0, used)
  }

  def bytes: Array[Byte] = {
    val all = new Array[Byte](Math.toIntExact(sizeBytes))
    full.indices.foreach(i => System.arraycopy(full(i), 0, all, i * MemoryFile.PieceBytes, MemoryFile.PieceBytes))
    System.arraycopy(piece, 0, all, full.size * MemoryFile.PieceBytes, used)
    all
  }

  override def create(blockSizeHint: Long): PositionOutputStream            = stream
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream = stream
  override def supportsBlockSize: Boolean                                   = false
  override def defaultBlockSize: Long                                       = 0L
  override def getPath: String                                              = name

  private[this] val stream: PositionOutputStream = new PositionOutputStream {
    override def getPos: Long = sizeBytes

    override def write(b: Int): Unit = {
      if (used == piece.length) next()
      piece(used) = b.toByte
      used += 1
    }

    override def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
      var from = offset
      var left = length
      while (left > 0) {
        if (used == piece.length) next()
        val n = Math.min(left, piece.length - used)
        System.arraycopy(bytes, from, piece, used, n)
        used += n
        from += n
        left -= n
      }
    }

    private def next(): Unit = {
      full += piece
      piece = new Array[Byte](MemoryFile.PieceBytes)
      used = 0
    }
  }
}

private object MemoryFile {
  private val PieceBytes = 256 * 1024
}
