package io.merganser.spark.write.place

import io.merganser.table.file.{FileGroupId, FileNames}
import io.merganser.table.slice.FileSlice

/**
 * New file groups of buckets that several writers may create at once: all of them choose the same id, and none writes a
 * base file, so that their log files are in one file group.
 *
 * @param replaced file groups that were replaced: log files that were added to them would not be read
 */
private[write] final class SharedBuckets(replaced: Set[FileGroupId]) extends Serializable {

  /** The target of the first rows of a bucket. */
  def first(partitionPath: String, bucket: Int, instant: String): FileGroupTarget = {
    val fileId = Iterator.from(0).map(FileNames.sharedBucketFileId(bucket, _))
      .find(id => !replaced(FileGroupId(partitionPath, id))).get
    FileGroupTarget(partitionPath, fileId, Some(FileSlice(partitionPath, fileId, instant, None, Nil)), isLog = true)
  }
}
