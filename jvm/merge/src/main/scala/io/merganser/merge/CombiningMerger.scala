package io.merganser.merge

import java.util.{Map => JavaMap}

/** A merger that combines the versions of a batch in a way of its own, and has a say in what is stored first. */
private[merganser] trait CombiningMerger extends RecordMerger {

  /** What two versions of one batch come to before they meet anything stored. */
  def combine(older: BufferedRecord, newer: BufferedRecord, context: RecordContext, props: JavaMap[String, String]): BufferedRecord

  /** What a row comes to where nothing is stored. */
  def insert(record: BufferedRecord, context: RecordContext, props: JavaMap[String, String]): BufferedRecord
}
