package io.merganser.spark.write.place

import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.{IndexType, Options}
import io.merganser.table.settings.WriteConfig
import io.merganser.table.verify.KeyPlace
import org.apache.spark.unsafe.types.UTF8String

/** The file groups of a table's buckets, by key. Sent to tasks. */
private[spark] final class KeyBuckets private (places: BucketPlaces) extends KeyPlace {

  /** False if the key belongs into another bucket than the file group's; true for a group that is no bucket. */
  override def admits(partitionPath: String, fileId: String, key: UTF8String): Boolean = {
    val buckets = places.in(partitionPath)
    buckets.ofGroup(fileId).forall(_ == buckets.of(key))
  }
}

private[spark] object KeyBuckets {

  /** None for a table whose properties do not name the index BUCKET: its keys may be in any file group. */
  def of(settings: WriteConfig, table: OpenTable): Option[KeyBuckets] =
    if (!table.config.properties.contains(Options.IndexTypeOption.key)) None
    else IndexResolver.resolve(settings.index, table) match {
      case bucket: IndexType.Bucket if !bucket.looksUp =>
        Some(new KeyBuckets(BucketPlaces(bucket, table, instant = "", replaces = false)))
      case _ => None
    }
}
