package io.merganser.table.storage

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.util.HadoopStreams
import org.apache.parquet.io.{OutputFile, PositionOutputStream}

/** A file that Parquet writes, on the file system of [[Storage]]. */
final class StoredOutput(path: Path, conf: Configuration) extends OutputFile {
  private val fs = LocalFiles.fileSystem(path, conf)

  override def create(blockSizeHint: Long): PositionOutputStream = create(blockSizeHint, overwrite = false)

  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream = create(blockSizeHint, overwrite = true)

  private def create(blockSizeHint: Long, overwrite: Boolean): PositionOutputStream = HadoopStreams.wrap(
    fs.create(path, overwrite, StoredOutput.BufferBytes, fs.getDefaultReplication(path),
      math.max(fs.getDefaultBlockSize(path), blockSizeHint)))

  override def supportsBlockSize: Boolean = StoredOutput.WithBlocks(fs.getUri.getScheme)

  override def defaultBlockSize: Long = fs.getDefaultBlockSize(path)

  override def getPath: String = path.toString
}

private object StoredOutput {
  val BufferBytes = 8192

  /** Schemes of stores that read blocks at different places. */
  val WithBlocks: Set[String] = Set("hdfs", "webhdfs", "viewfs")
}
