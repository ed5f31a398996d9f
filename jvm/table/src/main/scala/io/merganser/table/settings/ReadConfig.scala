package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{IgnoredOption, OptionKind, Options, Settings}
import io.merganser.table.properties.TableConfig

/**
 * @param readOptimized base files alone, logs not merged
 * @param changes       the window of an incremental query; None for other queries
 * @param asOf          time to read the table as of, as the user wrote it; None: the newest
 * @param mergerClasses user-written mergers, in the order to try them
 * @param ignored       the read's options without effect that a job may miss
 */
final case class ReadConfig(
    readOptimized: Boolean,
    changes: Option[ChangesConfig],
    asOf: Option[String],
    mergerClasses: Seq[String],
    ignored: Seq[IgnoredOption] = Nil
) {

  /** Those configured for this read, or else those the table stores as a default for its writes. */
  def mergerClassesFor(table: TableConfig): Seq[String] =
    if (mergerClasses.nonEmpty) mergerClasses
    else Options.MergerClasses.names.flatMap(table.properties.get).headOption.toSeq.flatMap(OptionKind.NameList.split)

  /** For statements, which change rows as they are now, whatever the session's queries read. */
  def ofStatement: ReadConfig = copy(readOptimized = false, changes = changes.filterNot(_.isOfSession))
}

/**
 * An incremental query.
 *
 * @param begin       as the user wrote it; exclusive
 * @param end         as the user wrote it; inclusive; None: the newest commit
 * @param schemaOfEnd whether the columns are those of the end
 * @param isOfSession whether the session's configuration makes all its queries incremental
 * @param changeData  the form of change data; None: rows as of the end are returned
 */
final case class ChangesConfig(
    begin: Option[String],
    end: Option[String],
    schemaOfEnd: Boolean,
    isOfSession: Boolean,
    changeData: Option[ChangeForm] = None
) {

  /** False for streams of change data, whose begin is an option of streams. Other reads without one are an error. */
  def hasBegin: Boolean = begin.isDefined || changeData.isEmpty

  /** @throws MerganserException CHANGES_BEGIN_MISSING */
  def beginOf(table: String): String = begin.getOrElse(throw MerganserException("CHANGES_BEGIN_MISSING",
      "table" -> table,
      "key" -> Options.ChangesBegin.key))
}

object ReadConfig {

  /**
   * Parses and checks the options of one read.
   *
   * @throws io.merganser.merge.MerganserException what [[Settings.ofRead]] throws
   */
  def parse(options: Map[String, String], sessionConf: Map[String, String]): ReadConfig = {
    val settings = Settings.ofRead(options, sessionConf)
    ReadConfig(
      readOptimized = settings.required(Options.QueryType) == "read_optimized",
      changes = changes(settings),
      asOf = settings.explicit(Options.AsOfInstant),
      mergerClasses = settings.fields(Options.MergerClasses),
      ignored = settings.ignored
    )
  }

  private def changeData(settings: Settings): Option[ChangeForm] =
    if (settings.required(Options.ChangesFormat) != "cdc") None
    else Some(ChangeForm(settings.required(Options.ChangeImages) == "struct", settings.bool(Options.ChangeReasons)))

  /** Another query that is given a window would return all rows, and one as of a time has none. */
  private def changes(settings: Settings): Option[ChangesConfig] = {
    val queryType     = settings.required(Options.QueryType)
    val isIncremental = queryType == "incremental"
    val isOfSession   = settings.isFromSession(Options.QueryType)
    def conflict(given: Settings.Configured, other: String, value: String) = throw MerganserException(
      "OPTION_CONFLICT",
      "key" -> given.name,
      "value" -> given.value,
      "otherKey" -> other,
      "otherValue" -> value)
    val ofWindows = Seq(Options.ChangesBegin, Options.ChangesEnd, Options.ChangesFormat)
    if (!isIncremental) ofWindows.filterNot(settings.isFromSession).flatMap(settings.configured).headOption.foreach(
      conflict(_, Options.QueryType.key, queryType))
    val asOf = settings.configured(Options.AsOfInstant)
    if (isIncremental && !isOfSession) asOf.foreach(conflict(_, Options.QueryType.key, queryType))
    if (!isIncremental || asOf.isDefined) None
    else Some(ChangesConfig(settings.explicit(Options.ChangesBegin), settings.explicit(Options.ChangesEnd),
        settings.bool(Options.ChangesSchemaOfEnd), isOfSession, changeData(settings)))
  }
}
