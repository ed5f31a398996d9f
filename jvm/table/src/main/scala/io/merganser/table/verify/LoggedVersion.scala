package io.merganser.table.verify

import io.merganser.merge.Version
import io.merganser.table.file.LogFile
import io.merganser.table.slice.{FileSlice, SliceInput, SliceVersions, VersionReceiver}
import org.apache.spark.unsafe.types.UTF8String

import scala.collection.mutable

/**
 * A version in the logs of a slice.
 *
 * @param version with a row of its own
 * @param block   position of the block that it is in
 * @param file    path of its log
 */
private[verify] final case class LoggedVersion(version: Version, block: Int, file: String)

private[verify] object LoggedVersion {

  /** Those of a slice by key, in the order in which keys come; those of one key oldest first. */
  def byKey(input: SliceInput, slice: FileSlice): collection.Map[UTF8String, collection.Seq[LoggedVersion]] = {
    val found = mutable.LinkedHashMap.empty[UTF8String, mutable.ArrayBuffer[LoggedVersion]]
    if (slice.logs.nonEmpty) new SliceVersions(input).eachVersion(slice)(new VersionReceiver {
      private[this] var file = ""
      private[this] var at   = 0

      override def block(log: LogFile, instant: String): Unit = {
        file = log.path
        at += 1
      }

      override def add(version: Version): Unit = {
        val own = version.copy()
        found.getOrElseUpdate(input.layout.key(own.row), mutable.ArrayBuffer.empty) += LoggedVersion(own, at, file)
        ()
      }
    })
    found
  }
}
