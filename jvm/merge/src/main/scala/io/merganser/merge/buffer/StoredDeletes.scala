package io.merganser.merge.buffer

import io.merganser.merge.Version
import org.apache.spark.unsafe.types.UTF8String

/** Deletes that are stored beside the rows of a file: a version of their key is merged with them as with a row. */
trait StoredDeletes {

  /** The delete of a key, with an ordering value; null if none is stored. */
  def find(key: UTF8String): Version
}
