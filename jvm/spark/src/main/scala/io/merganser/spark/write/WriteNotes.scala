package io.merganser.spark.write

import io.merganser.table.file.FileGroupId
import io.merganser.table.options.{IgnoredOption, IgnoredOptions}

/**
 * What a user should know about a committed write besides its counts. Empty if it did what its options say and no more.
 *
 * @param warnings       sentences
 * @param ignoredOptions options that were accepted but ignored, where that may matter to the user
 * @param columnsAdded   columns that this write added to the table
 * @param columnsWidened columns whose type this write widened, each as `amount: int -> bigint`
 * @param serviceFailure sentences about the steps after the commit that failed, if any did
 * @param retries        times that the write was run again after a conflict
 * @param isRepetition   the write's transaction was committed before: this is that commit's result
 * @param manyLogs       the file group that was written with the most logs, if they are so many that reads suffer
 */
final case class WriteNotes(
    warnings: Seq[String] = Nil,
    ignoredOptions: Seq[IgnoredOption] = Nil,
    columnsAdded: Seq[String] = Nil,
    columnsWidened: Seq[String] = Nil,
    serviceFailure: Option[String] = None,
    retries: Int = 0,
    isRepetition: Boolean = false,
    manyLogs: Option[FileGroupId] = None
) {

  /** All of it as sentences, for the log. */
  def sentences: Seq[String] = {
    def listed(what: String, values: Seq[String]) =
      if (values.isEmpty) Nil else Seq(s"$what: ${values.mkString(", ")}.")
    warnings ++ listed("Options without effect", IgnoredOptions.described(ignoredOptions)) ++ listed("Columns added",
      columnsAdded) ++
      listed("Columns widened", columnsWidened) ++ serviceFailure ++
      (if (retries == 0) Nil else Seq(s"Conflicts with other writes: $retries; it was run again after each."))
  }
}

object WriteNotes {

  /** Names and values of the lists, in the order in which results show them. */
  private[spark] val lists: Seq[(String, WriteNotes => Seq[String])] = Seq(
    "warnings" -> (_.warnings),
    "ignoredOptions" -> (_.ignoredOptions.map(_.key)),
    "columnsAdded" -> (_.columnsAdded),
    "columnsWidened" -> (_.columnsWidened)
  )
}
