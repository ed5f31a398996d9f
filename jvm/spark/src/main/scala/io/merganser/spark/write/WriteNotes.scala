package io.merganser.spark.write

import io.merganser.table.options.{IgnoredOption, IgnoredOptions}

/**
 * What a user should know of a committed write beside its counts. Empty where the write did what its options say and no more.
 *
 * @param warnings       sentences
 * @param ignoredOptions options that were accepted without effect, though the user may lose something by it
 * @param columnsAdded   columns that the table has since this write
 * @param columnsWidened columns with another type since this write, each as `amount: int -> bigint`
 * @param serviceFailure a sentence about the table service that failed after the commit, if one did
 */
final case class WriteNotes(
    warnings: Seq[String] = Nil,
    ignoredOptions: Seq[IgnoredOption] = Nil,
    columnsAdded: Seq[String] = Nil,
    columnsWidened: Seq[String] = Nil,
    serviceFailure: Option[String] = None
) {

  /** All of it as sentences, for the log. */
  def sentences: Seq[String] = {
    def listed(what: String, values: Seq[String]) =
      if (values.isEmpty) Nil else Seq(s"$what: ${values.mkString(", ")}.")
    warnings ++ listed("Options without effect", IgnoredOptions.described(ignoredOptions)) ++ listed("Columns added",
      columnsAdded) ++
      listed("Columns widened", columnsWidened) ++ serviceFailure
  }
}

object WriteNotes {

  /** Names and values of the lists, in the order in which results show them. */
  private[spark] def lists(notes: WriteNotes): Seq[(String, Seq[String])] = Seq(
    "warnings" -> notes.warnings,
    "ignoredOptions" -> notes.ignoredOptions.map(_.key),
    "columnsAdded" -> notes.columnsAdded,
    "columnsWidened" -> notes.columnsWidened
  )
}
