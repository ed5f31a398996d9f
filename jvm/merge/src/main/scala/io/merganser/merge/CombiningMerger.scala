package io.merganser.merge

import java.util.{Map => JavaMap}

/** A merger that has its own way to combine the versions of a batch, and to insert a row. */
private[merganser] trait CombiningMerger extends RecordMerger {

  /** Combines two versions of one batch before either is merged with the stored row. */
  def combine(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord

  /** Maps a row to the one to store where its key is not stored. */
  def insert(record: BufferedRecord, context: RecordContext, props: JavaMap[String, String]): BufferedRecord
}
