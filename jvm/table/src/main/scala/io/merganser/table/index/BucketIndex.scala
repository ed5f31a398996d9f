package io.merganser.table.index

/** Which bucket a record key belongs to; every engine that writes the table computes the same number. */
object BucketIndex {

  /**
   * @param recordKey  the record key's text: the value alone, or `field:value,field:value`
   * @param keyFields  the table's record key fields
   * @param hashFields those whose values are hashed; some of `keyFields`
   * @param buckets    number of buckets of a partition
   * @return from 0 to `buckets` - 1
   */
  def bucket(recordKey: String, keyFields: Seq[String], hashFields: Seq[String], buckets: Int): Int =
    (hash(hashed(recordKey, keyFields, hashFields)) & Int.MaxValue) % buckets

  /** The texts that are hashed; null for a null value. */
  private[index] def hashed(recordKey: String, keyFields: Seq[String], hashFields: Seq[String]): Seq[String] =
    if (isPlain(recordKey, keyFields)) Seq(recordKey)
    else {
      val values = fieldValues(recordKey, keyFields)
      hashFields.map(field => values.getOrElse(field, recordKey)).map {
        case "__null__"  => null
        case "__empty__" => ""
        case value       => value
      }
    }

  private def isPlain(recordKey: String, keyFields: Seq[String]): Boolean =
    keyFields.size == 1 && !recordKey.startsWith(keyFields.head + ":")

  /** Splits before each `,field:` of the key's own fields in their order, so that values may hold commas and colons. */
  private def fieldValues(recordKey: String, keyFields: Seq[String]): Map[String, String] = {
    var from = 0
    keyFields.zipWithIndex.flatMap { case (field, i) =>
      val start = from + field.length + 1
      if (!recordKey.startsWith(field + ":", from)) None
      else {
        val end = if (i + 1 < keyFields.size) recordKey.indexOf("," + keyFields(i + 1) + ":", start) else -1
        from = if (end < 0) recordKey.length else end + 1
        Some(field -> recordKey.substring(start, if (end < 0) recordKey.length else end))
      }
    }.toMap
  }

  private def hash(values: Seq[String]): Int =
    values.foldLeft(1)((h, value) => 31 * h + (if (value == null) 0 else value.hashCode))
}
