package io.merganser.table.base

import java.io.ByteArrayOutputStream

import org.apache.parquet.io.{OutputFile, PositionOutputStream}

/**
 * The output of a base file: it records the file's size, so that no storage call is needed for it, and puts the
 * checksum into the footer.
 */
private[base] final class BaseFileOutput(file: OutputFile) extends OutputFile {
  private[this] var size                          = 0L
  private[this] var footer: ByteArrayOutputStream = _
  private[this] var stream: PositionOutputStream  = _

  /** Bytes of the closed file. */
  def sizeBytes: Long = size

  /**
   * Appends bytes that are no part of Parquet's data, after the last row group and before the footer.
   *
   * @return where they begin
   */
  def append(bytes: Array[Byte]): Long = {
    val start = stream.getPos
    stream.write(bytes, 0, bytes.length)
    start
  }

  /** What follows is the end of the file, which is buffered until the file is closed. */
  def beginFooter(): Unit = footer = new ByteArrayOutputStream

  override def create(blockSizeHint: Long): PositionOutputStream = measured(file.create(blockSizeHint))
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream =
    measured(file.createOrOverwrite(blockSizeHint))
  override def supportsBlockSize: Boolean = file.supportsBlockSize
  override def defaultBlockSize: Long     = file.defaultBlockSize
  override def getPath: String            = file.getPath

  private def measured(out: PositionOutputStream): PositionOutputStream = {
    stream = new Measured(out)
    stream
  }

  /** Closes the file, complete or not. */
  def close(): Unit = if (stream != null) stream.close()

  private final class Measured(out: PositionOutputStream) extends PositionOutputStream {
    override def getPos: Long = if (footer == null) out.getPos else out.getPos + footer.size

    override def write(b: Int): Unit = if (footer == null) out.write(b) else footer.write(b)

    override def write(b: Array[Byte], offset: Int, length: Int): Unit =
      if (footer == null) out.write(b, offset, length) else footer.write(b, offset, length)

    override def flush(): Unit = out.flush()

    override def close(): Unit =
      try {
        if (footer != null) {
          val end = footer.toByteArray
          footer = null
          FooterChecksum.set(end)
          out.write(end, 0, end.length)
        }
        size = out.getPos
      } finally out.close()
  }
}
