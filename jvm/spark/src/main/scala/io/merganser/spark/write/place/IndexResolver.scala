package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.commit.BucketMetadata
import io.merganser.table.file.FileNames
import io.merganser.table.index.BucketIndex
import io.merganser.table.options.{BucketLayout, IndexType, OptionEntry, Options}
import io.merganser.table.properties.TableConfig
import io.merganser.table.slice.FileSlice
import org.apache.spark.unsafe.types.UTF8String

/**
 * The index of a table, by its properties. Tables of other writers may lack them: there the file ids decide, which for
 * BUCKET begin with the bucket's number in eight digits.
 */
private[spark] object IndexResolver {

  /** Limit of the buckets in a partition; a random file id begins with a number below it once in 40,000 times. */
  private val MostBuckets = 100000

  private val DefaultCount = Options.BucketCount.default.map(_.toInt)

  /** Base files whose keys are read to check a number of buckets. */
  private val CheckedFiles = 16

  /**
   * The index to write with: SIMPLE, or BUCKET with a number of buckets.
   *
   * @param configured the index by options and properties
   * @throws io.merganser.merge.MerganserException CONFIG_CONFLICT if the files have another index or number of buckets,
   *                                               BUCKET_COUNT_UNKNOWN if the number cannot be inferred
   */
  def resolve(configured: IndexType, table: OpenTable): IndexType = {
    val isStored = table.config.properties.contains(Options.IndexTypeOption.key)
    configured match {
      case bucket: IndexType.Bucket if isStored && bucket.buckets.isDefined =>
        withRule(bucket.copy(layout = Some(bucket.layout.getOrElse(BucketLayout.Fixed))), table)
      case simple: IndexType.Simple if isStored => simple
      case _                                    => byFiles(configured, table, isStored)
    }
  }

  /**
   * The buckets that the keys of a table belong to, also where its files contradict them: file groups may have the
   * number of one bucket, and keys be in those of others. None for a table without buckets, and where nothing
   * configures their number and it cannot be inferred.
   *
   * @throws io.merganser.merge.MerganserException CONFIG_CONFLICT if the files are not numbered as buckets are, or of
   *                                               another engine of buckets; BUCKET_COUNT_UNKNOWN
   */
  def bucketsOf(configured: IndexType, table: OpenTable): Option[IndexType.Bucket] = {
    val stored           = BucketMetadata.stored(table.storage, table.timeline)
    lazy val slices      = table.view.slices
    lazy val areNumbered = slices.forall(s => FileNames.bucketOf(s.fileId).exists(_ < MostBuckets))
    def named(bucket: IndexType.Bucket): IndexType = stored match {
      case Some(BucketMetadata.Stored(layout, count)) if !bucket.layout.exists(_ != layout) =>
        bucket.copy(bucket.buckets.orElse(count).orElse(DefaultCount), layout = Some(layout))
      case None if bucket.buckets.isDefined && !bucket.layout.contains(BucketLayout.Rings) && areNumbered =>
        bucket.copy(layout = bucket.layout.orElse(Some(BucketLayout.Fixed)))
      case _ => resolve(bucket, table)
    }
    val found = configured match {
      case bucket: IndexType.Bucket                                                                   => named(bucket)
      case IndexType.ByFiles(bucket) if stored.isDefined || (bucket.buckets.isDefined && areNumbered) => named(bucket)
      case IndexType.ByFiles(bucket) if slices.nonEmpty && areNumbered =>
        try counted(bucket.copy(layout = Some(BucketLayout.Fixed)), table, slices, storedKeys(table, slices))
        catch { case e: MerganserException if e.condition == "BUCKET_COUNT_UNKNOWN" => configured }
      case _ => configured
    }
    found match {
      case bucket: IndexType.Bucket => Some(bucket)
      case _                        => None
    }
  }

  /** How keys are looked up in all partitions; None if they are not, or if the table has no partitions. */
  def globalKeys(index: IndexType, config: TableConfig): Option[IndexType.GlobalKeys] = index match {
    case simple: IndexType.Simple if config.partitionFields.nonEmpty => simple.global
    case _                                                           => None
  }

  /** Whether Bloom filters in base files rule out files before their keys are read. */
  def usesFilters(index: IndexType): Boolean = index match {
    case simple: IndexType.Simple => simple.bloomFilters
    case _                        => false
  }

  /**
   * SIMPLE, BUCKET, ...; None for a table that has neither the property nor a file, or whose files cannot be listed: it
   * is described nevertheless, so that it can be repaired or restored.
   */
  def nameOf(table: OpenTable): Option[String] =
    table.config.properties.get(Options.IndexTypeOption.key).orElse {
      try {
        val first = ofFirstPartition(table)
        if (first.isEmpty) None
        else Some(if (areBuckets(first, table.view.slices) || table.hasRings) "BUCKET" else "SIMPLE")
      } catch { case _: MerganserException => None }
    }

  /** The slices of one partition that has any: where they are no buckets, no other partition need be listed. */
  private def ofFirstPartition(table: OpenTable): Seq[FileSlice] =
    table.view.slicesOneByOne(most = 1).take(1).toList.flatMap(slice => table.view.slices(slice.partitionPath))

  private def areBuckets(first: Seq[FileSlice], all: => Seq[FileSlice]): Boolean = areBuckets(first) && areBuckets(all)

  /** The newest rule by which partitions have different numbers of buckets: other engines may change it. */
  private def withRule(bucket: IndexType.Bucket, table: OpenTable): IndexType.Bucket = bucket.layout match {
    case Some(BucketLayout.ByPartition(_)) =>
      BucketMetadata.stored(table.storage, table.timeline).map(_.layout).fold(bucket)(l =>
        bucket.copy(layout = Some(l)))
    case _ => bucket
  }

  private def byFiles(configured: IndexType, table: OpenTable, isStored: Boolean): IndexType = {
    lazy val slices = table.view.slices
    lazy val keys   = storedKeys(table, slices)
    def conflict(key: OptionEntry, requested: String, actual: String, what: String) =
      throw MerganserException("CONFIG_CONFLICT", "key" -> key.key, "value" -> requested, "stored" -> actual,
        "by" -> s"the files of table '${table.config.name}' are of $what")
    def refuse(requested: String, actual: String) =
      conflict(Options.IndexTypeOption, requested, actual, "index")
    def engine(requested: String, actual: String) =
      conflict(Options.BucketEngine, requested, actual, "bucket engine")
    val stored = BucketMetadata.stored(table.storage, table.timeline)
    val first  = ofFirstPartition(table)
    val found  = if (first.isEmpty) stored.map(_ => true) else Some(stored.isDefined || areBuckets(first, slices))
    def laidOut(bucket: IndexType.Bucket): IndexType.Bucket = (stored, bucket.layout) match {
      case (Some(BucketMetadata.Stored(BucketLayout.Rings, count)), layout) =>
        if (layout.exists(_ != BucketLayout.Rings)) engine("SIMPLE", "CONSISTENT_HASHING")
        bucket.copy(bucket.buckets.orElse(count).orElse(DefaultCount), layout = Some(BucketLayout.Rings))
      case (Some(BucketMetadata.Stored(rule, count)), layout) =>
        if (layout.contains(BucketLayout.Rings)) engine("CONSISTENT_HASHING", "SIMPLE")
        if (layout.exists(l => l != rule && l != BucketLayout.Fixed))
          conflict(Options.BucketExpressions, "other expressions", "the newest ones", "a rule stored in .hoodie, with")
        counted(bucket.copy(bucket.buckets.orElse(count).orElse(DefaultCount), layout = Some(rule)), table, slices,
          keys)
      case (None, Some(BucketLayout.Rings)) =>
        if (slices.nonEmpty) engine("CONSISTENT_HASHING", "SIMPLE")
        bucket.copy(bucket.buckets.orElse(DefaultCount))
      case (None, layout) => counted(bucket.copy(layout = layout.orElse(Some(BucketLayout.Fixed))), table, slices, keys)
    }
    (configured, found) match {
      case (_: IndexType.Bucket, Some(false)) if !isStored => refuse("BUCKET", "SIMPLE")
      // Keys that are in any of the buckets: they are looked up.
      case (simple: IndexType.Simple, Some(true)) if stored.isEmpty && noCountFits(table, slices, keys) => simple
      case (_: IndexType.Simple, Some(true)) => refuse("SIMPLE", "BUCKET")
      case (bucket: IndexType.Bucket, _)     => laidOut(bucket)
      case (IndexType.ByFiles(bucket), Some(true))
          if bucket.buckets.isEmpty && stored.isEmpty && noCountFits(table, slices, keys) =>
        IndexType.Simple(bloomFilters = false)
      case (IndexType.ByFiles(bucket), Some(true)) => laidOut(bucket).copy(looksUp = true)
      case (simple: IndexType.Simple, _)           => simple
      case _                                       => IndexType.Simple(bloomFilters = false)
    }
  }

  private def areBuckets(slices: Seq[FileSlice]): Boolean =
    slices.groupBy(_.partitionPath).values.forall { inPartition =>
      val numbers = inPartition.map(s => FileNames.bucketOf(s.fileId).filter(_ < MostBuckets))
      numbers.forall(_.isDefined) && numbers.distinct.size == numbers.size
    }

  private def counted(
      bucket: IndexType.Bucket,
      table: OpenTable,
      slices: Seq[FileSlice],
      keys: => Seq[StoredKey]
  ): IndexType.Bucket =
    if (slices.isEmpty) bucket.copy(buckets = bucket.buckets.orElse(DefaultCount))
    else {
      val found = slices.groupBy(_.partitionPath).values.map(_.flatMap(s => FileNames.bucketOf(s.fileId)).toSet)
      val least = found.map(_.max).max + 1
      bucket.buckets match {
        case Some(count) if bucket.layout.exists(_ != BucketLayout.Fixed) =>
          strayKey(keys, bucket).foreach(where => throw otherCount(table, count, where))
          bucket
        case Some(count) =>
          if (count < least) throw otherCount(table, count, s"bucket ${least - 1}")
          strayKey(keys, bucket).foreach(where => throw otherCount(table, count, where))
          bucket
        // Some partition has every bucket up to the last one found.
        case None
            if found.exists(_.size == least) && strayKey(keys, bucket.copy(buckets = Some(least))).isEmpty =>
          bucket.copy(buckets = Some(least))
        case None =>
          throw MerganserException("BUCKET_COUNT_UNKNOWN", "table" -> table.config.name,
            "found" -> found.flatten.toSeq.distinct.sorted.take(20).mkString(", "))
      }
    }

  /** A stored key, and its bucket, that would be in another bucket with these settings. */
  private def strayKey(keys: Seq[StoredKey], bucket: IndexType.Bucket): Option[String] = {
    val places = BucketPlaces.fixed(bucket)
    keys.find(k => places(k.partitionPath).of(UTF8String.fromString(k.key)) != k.bucket)
      .map(k => s"key ${k.key} in bucket ${k.bucket}")
  }

  private final case class StoredKey(partitionPath: String, bucket: Int, key: String)

  /** The first and the last key of some base files. */
  private def storedKeys(table: OpenTable, slices: Seq[FileSlice]): Seq[StoredKey] =
    slices.flatMap(s => s.base.flatMap(b => FileNames.bucketOf(s.fileId).map(_ -> b))).take(CheckedFiles)
      .flatMap { case (number, base) =>
        val footer = BaseFileFooter.read(table.storage.conf, table.storage.path(base.path), base.sizeBytes)
        (footer.minKey ++ footer.maxKey).map(StoredKey(base.partitionPath, number, _))
      }

  /**
   * True if the keys of some partition are in buckets that no number of buckets gives, by whichever key fields: an
   * engine with another index has put keys into files that a BUCKET index had made. Where each partition has a number
   * of its own, they are buckets by a rule that the table does not store.
   */
  private def noCountFits(table: OpenTable, slices: Seq[FileSlice], keys: Seq[StoredKey]): Boolean = {
    val most = slices.groupBy(_.partitionPath).map { case (partition, some) =>
      partition -> some.flatMap(s => FileNames.bucketOf(s.fileId)).max
    }
    val names = table.config.recordKeyFields
    names.toSet.subsets().filter(fields => fields.nonEmpty || names.isEmpty).forall { fields =>
      keys.groupBy(_.partitionPath).exists { case (partition, some) =>
        // A number that fits divides all of these.
        val distances =
          some.map(k => BigInt(BucketIndex.bucket(k.key, names.filter(fields), Int.MaxValue)) - k.bucket)
        val greatest = distances.foldLeft(BigInt(0))(_.gcd(_))
        greatest != 0 && greatest <= most(partition)
      }
    }
  }

  private def otherCount(table: OpenTable, count: Int, where: String) =
    MerganserException("CONFIG_CONFLICT", "key" -> Options.BucketCount.key, "value" -> count, "stored" -> where,
      "by" -> s"the files of table '${table.config.name}' have")
}
