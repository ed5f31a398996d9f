package io.merganser.spark.write.place

import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Numbers that Spark's hash partitioning maps to chosen partitions, so that each partition gets one file group. */
private[write] object DirectPartitions {

  /** For each of `count` partitions, an int that Spark's hash partitioning into `count` puts there. */
  def salts(count: Int): Array[Int] = {
    val salts = new Array[Int](count)
    val found = new Array[Boolean](count)
    var left  = count
    var value = 0
    while (left > 0) {
      val hash = Murmur3_x86_32.hashInt(value, 42)
      val at   = ((hash % count) + count) % count
      if (!found(at)) { found(at) = true; salts(at) = value; left -= 1 }
      value += 1
    }
    salts
  }
}
