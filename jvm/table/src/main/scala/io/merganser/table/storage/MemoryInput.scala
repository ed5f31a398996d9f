package io.merganser.table.storage

import org.apache.parquet.io.{DelegatingSeekableInputStream, InputFile, SeekableInputStream}

import java.io.{ByteArrayInputStream, EOFException}

/** A Parquet file in memory, for a reader. */
private[table] final class MemoryInput(bytes: Array[Byte]) extends InputFile {
  override def getLength: Long = bytes.length.toLong

  override def newStream(): SeekableInputStream = {
    val in = new MemoryInput.Stream(bytes)
    new DelegatingSeekableInputStream(in) {
      override def getPos: Long         = in.position
      override def seek(to: Long): Unit = in.seek(to)
    }
  }
}

private object MemoryInput {
  private final class Stream(bytes: Array[Byte]) extends ByteArrayInputStream(bytes) {
    def position: Long = pos.toLong

    def seek(to: Long): Unit = {
      if (to < 0 || to > count) throw new EOFException(s"byte $to of a content of $count bytes")
      pos = to.toInt
    }
  }
}
