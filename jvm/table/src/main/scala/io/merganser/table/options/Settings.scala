package io.merganser.table.options

import io.merganser.merge.MerganserException
import io.merganser.table.options.Names.lower

/**
 * Options with their names resolved: known, of the right kind, and without contradictions.
 *
 * @param mergeProperties options with the prefix `hoodie.record.merge.property.`, prefix stripped
 * @param ruleColumns     options with the prefix `merganser.rule.column.`, prefix stripped; of the write alone
 * @param ruleGroups      the same with the prefix `merganser.rule.group.`
 * @param stored          options that only tables store, such as `hoodie.table.partial.update.mode`, by lower-case name
 * @param commitMetadata  options that go into the commit as extra metadata
 * @param session         of the above, those that only the session's configuration sets
 * @param ignored         options without effect that a job may miss
 */
final class Settings private (
    configured: Map[OptionEntry, Settings.Configured],
    val mergeProperties: Map[String, String],
    val ruleColumns: Map[String, String],
    val ruleGroups: Map[String, String],
    val stored: Map[String, Settings.Configured],
    val commitMetadata: Map[String, String],
    session: Settings.OfSession,
    val ignored: Seq[IgnoredOption]
) {

  /** Whether the session's configuration sets it, and no option of the write or statement does. */
  def isFromSession(entry: OptionEntry): Boolean = session.entries(entry)

  /**
   * Without those settings of the session for which a predicate is true: a session's settings are defaults for all
   * tables, so one that contradicts this table is ignored.
   */
  private[table] def withoutSessionSettings(
      contradicts: (OptionEntry, Settings.Configured) => Boolean,
      property: String => Boolean,
      stored: String => Boolean
  ): Settings = new Settings(
    configured.filterNot { case (entry, value) => session.entries(entry) && contradicts(entry, value) },
    mergeProperties.filterNot { case (key, _) => session.mergeProperties(key) && property(key) },
    ruleColumns,
    ruleGroups,
    this.stored.filterNot { case (key, _) => session.stored(key) && stored(key) },
    commitMetadata,
    session,
    ignored
  )

  /** The configured value in canonical form, or None; an empty value counts as none. */
  def explicit(entry: OptionEntry): Option[String] = configured.get(entry).map(_.value)

  /** The name under which it was configured, and the canonical value. */
  def configured(entry: OptionEntry): Option[Settings.Configured] = configured.get(entry)

  /** The configured value, else the table's. */
  def explicitOrStored(entry: OptionEntry, stored: Map[String, String]): Option[String] =
    explicit(entry).orElse(storedIn(entry, stored))

  /** The configured value, else the table's, else the default. */
  def text(entry: OptionEntry, stored: Map[String, String] = Map.empty): Option[String] =
    explicitOrStored(entry, stored).orElse(entry.default)

  def fields(entry: OptionEntry): Seq[String] = explicit(entry).map(OptionKind.NameList.split).getOrElse(Nil)

  def bool(entry: OptionEntry, stored: Map[String, String] = Map.empty): Boolean = required(entry, stored).toBoolean

  def whole(entry: OptionEntry, stored: Map[String, String] = Map.empty): Long = required(entry, stored).toLong

  def required(entry: OptionEntry, stored: Map[String, String] = Map.empty): String =
    text(entry, stored).getOrElse(throw new IllegalStateException(s"option '${entry.key}' has no default"))

  /** The configured options of a scope, with names and canonical values. */
  def of(scope: OptionScope): Map[OptionEntry, Settings.Configured] = configured.filter(_._1.scope == scope)

  private def storedIn(entry: OptionEntry, stored: Map[String, String]): Option[String] =
    entry.names.collectFirst { case name if stored.get(name).exists(_.nonEmpty) => entry.parse(stored(name), name) }
}

object Settings {

  /** @param name the name that the user set, which may be an alias; @param value in canonical form */
  final case class Configured(name: String, value: String)

  /** What only the session sets: options, merge properties and options that only tables store. */
  private final case class OfSession(entries: Set[OptionEntry], mergeProperties: Set[String], stored: Set[String])

  /** Settings of a read: of options for writes, only the names are checked. */
  def ofRead(options: Map[String, String], sessionConf: Map[String, String]): Settings =
    resolve(options, sessionConf, ForeignOptions.refusedReadingByName, isRead = true)

  /**
   * Settings of a write or of a new table.
   *
   * @param sessionConf Spark's configuration; only `hoodie.*`, `spark.hoodie.*` and `spark.merganser.*` are read, and
   *                    options take precedence
   * @throws MerganserException UNKNOWN_OPTION, OPTION_OF_OTHER_FORMAT, UNSUPPORTED_OPTION, OPTION_VALUE_INVALID,
   *                            OPTION_CONFLICT
   */
  def ofWrite(options: Map[String, String], sessionConf: Map[String, String]): Settings =
    resolve(options, sessionConf, ForeignOptions.refusedByName, isRead = false)

  private def resolve(
      options: Map[String, String],
      sessionConf: Map[String, String],
      refused: Map[String, ForeignOptions.Refused],
      isRead: Boolean
  ): Settings = {
    val session = sessionConf.toSeq.collect {
      case (key, value) if lower(key).startsWith("spark.hoodie.") => key.drop("spark.".length) -> value
      case (key, value) if lower(key).startsWith("hoodie.") || lower(key).startsWith("spark.merganser.") => key -> value
    }
    val written = options.toSeq.filter(_._2 != null)
    val prefix = written.collectFirst { case (k, v) if lower(k) == Options.CommitMetadataPrefix.key && v.nonEmpty => v }
      .orElse(Options.CommitMetadataPrefix.default)
    val (metadata, named) = written.partition { case (key, _) => isMetadata(key, prefix) }
    val both              = session ++ named
    both.foreach { case (key, value) => checkKnown(lower(key), key, value, refused) }
    named.foreach { case (key, value) => checkScope(key, value) }
    val (ofSession, ofOptions) = (entriesOf(session), entriesOf(named))
    new Settings(
      ofSession ++ ofOptions,
      mergePropertiesOf(both),
      withPrefix(named, Options.RuleColumnPrefix).filter(_._2.trim.nonEmpty),
      withPrefix(named, Options.RuleGroupPrefix).filter(_._2.trim.nonEmpty),
      storedOf(both),
      metadata.toMap,
      OfSession(ofSession.keySet -- ofOptions.keySet,
        mergePropertiesOf(session).keySet -- mergePropertiesOf(named).keySet,
        storedOf(session).keySet -- storedOf(named).keySet),
      // For a read, its own options alone: the session's apply to all statements.
      if (isRead) IgnoredOptions.among(named, IgnoredOptions.ofReads)
      else IgnoredOptions.among(both, IgnoredOptions.ofWrites)
    )
  }

  private def mergePropertiesOf(pairs: Seq[(String, String)]): Map[String, String] =
    withPrefix(pairs, Options.MergePropertyPrefix)

  private def withPrefix(pairs: Seq[(String, String)], prefix: String): Map[String, String] =
    pairs.collect { case (key, value) if lower(key).startsWith(prefix) => key.drop(prefix.length) -> value }.toMap

  private def storedOf(pairs: Seq[(String, String)]): Map[String, Configured] =
    pairs.collect {
      case (key, value) if ForeignOptions.storedNames(lower(key)) => lower(key) -> Configured(key, value)
    }.toMap

  private def isMetadata(key: String, prefix: Option[String]): Boolean =
    prefix.exists(p => key.startsWith(p)) && !Options.byName.contains(lower(key)) && !ForeignOptions.isSparks(
      lower(key))

  /** The options that one source sets; aliases of one entry must agree. */
  private def entriesOf(pairs: Seq[(String, String)]): Map[OptionEntry, Configured] =
    pairs.foldLeft(Map.empty[OptionEntry, Configured]) { case (seen, (key, value)) =>
      Options.byName.get(lower(key)).filter(_ => value.trim.nonEmpty).fold(seen) { entry =>
        val canonical = entry.parse(value, key)
        seen.get(entry) match {
          case Some(other) if other.value != canonical =>
            throw MerganserException("OPTION_CONFLICT", "key" -> key, "value" -> canonical, "otherKey" -> other.name,
              "otherValue" -> other.value)
          case Some(_) => seen
          case None    => seen + (entry -> Configured(key, canonical))
        }
      }
    }

  private def checkKnown(
      key: String,
      original: String,
      value: String,
      refused: Map[String, ForeignOptions.Refused]
  ): Unit =
    if (!Options.byName.contains(key)) refused.get(key) match {
      case Some(option) =>
        if (value.trim.nonEmpty && !option.accepted.exists(_.equalsIgnoreCase(value.trim)))
          throw MerganserException("UNSUPPORTED_OPTION", "key" -> original, "value" -> value, "remedy" -> option.remedy)
      case None =>
        val known =
          Seq(Options.MergePropertyPrefix, Options.RuleColumnPrefix, Options.RuleGroupPrefix).exists(
            key.startsWith) || ForeignOptions.isHarmless(key) || ForeignOptions.isKnown(
            key) || ForeignOptions.isSparks(
            key)
        if (!known) throw unknown(original)
    }

  private def checkScope(key: String, value: String): Unit =
    Options.byName.get(lower(key)).filter(_.scope == OptionScope.OfApplication).foreach { _ =>
      throw MerganserException("UNSUPPORTED_OPTION", "key" -> key, "value" -> value,
        "remedy" -> "Set it where the Spark application is started, in spark-defaults.conf or with --conf")
    }

  private def unknown(key: String): MerganserException = OtherFormats.word(lower(key)) match {
    case Some(word) =>
      MerganserException("OPTION_OF_OTHER_FORMAT", "key" -> key, "format" -> word.format, "remedy" -> word.remedy)
    case None =>
      val isLong  = lower(key).startsWith("hoodie.") || lower(key).startsWith("spark.")
      val within  = if (isLong) math.max(2, key.length / 4) else 2
      val nearest = OtherFormats.shortened(lower(key)).orElse(NearestName.of(key, ForeignOptions.allNames, within))
      val others =
        if (!isLong) "Remove it; docs/config.md lists the known ones"
        else
          s"Hudi ${HudiOptions.release} declares none either: remove it, if it only tunes Hudi; docs/config.md lists " +
            "the known ones"
      MerganserException("UNKNOWN_OPTION", "key" -> key,
        "remedy" -> nearest.fold(others)(name => s"Did you mean '$name'?"))
  }
}
