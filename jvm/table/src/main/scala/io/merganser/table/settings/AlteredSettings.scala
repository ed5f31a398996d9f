package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionScope, Options, OwnProperties, Settings}
import io.merganser.table.properties.TableConfig

/** Settings of an existing table: which of them can be set, changed and removed. */
object AlteredSettings {

  /**
   * The change that setting or unsetting a property makes in `hoodie.properties`: settings of writes become the table's
   * defaults. None for the user's own properties, and for settings that have no effect here.
   *
   * @param value None to remove the property
   * @throws MerganserException PROPERTY_FIXED for what the table's creation fixed; UNKNOWN_OPTION, OPTION_VALUE_INVALID
   */
  def edit(
      table: String,
      config: TableConfig,
      key: String,
      value: Option[String]
  ): Option[Map[String, String] => Map[String, String]] = {
    def fixed(reason: String) =
      MerganserException("PROPERTY_FIXED", "table" -> table, "key" -> key, "value" -> value.getOrElse("nothing"),
        "reason" -> reason)
    if (OwnProperties.isOwn(key)) None
    else {
      val settings = Settings.ofWrite(Map(key -> value.getOrElse("")), Map.empty)
      Options.byName.get(key.toLowerCase(java.util.Locale.ROOT)) match {
        case Some(entry) if entry.scope == OptionScope.OfWrite =>
          Some(now => (now -- entry.names) ++ settings.explicit(entry).map(entry.key -> _))
        case Some(Options.TombstonesRetained) =>
          val hours = settings.explicit(Options.TombstonesRetained).filter(_ => value.isDefined)
          RetainedDeletes.require(config.copy(properties = config.properties - Options.TombstonesRetained.key ++
              hours.map(Options.TombstonesRetained.key -> _)))
          Some(now => now - Options.TombstonesRetained.key ++ hours.map(Options.TombstonesRetained.key -> _))
        case Some(entry) if entry.scope == OptionScope.OfTable =>
          val stored = entry.names.flatMap(config.properties.get).find(_.nonEmpty)
          if (value.isEmpty || !stored.exists(s => settings.explicit(entry).exists(_.equalsIgnoreCase(s))))
            throw fixed(
              s"the table was created with ${stored.fold("none")(s => s"'$s'")}, and its rows and files depend on it")
          None
        case Some(_) => throw fixed("it is a setting of one read")
        case None =>
          val isOfRule = key.toLowerCase(java.util.Locale.ROOT).startsWith("merganser.rule.")
          if (
            isOfRule || settings.mergeProperties.nonEmpty || settings.stored.nonEmpty || config.properties.contains(key)
          )
            throw fixed("its rows and files depend on the value at its creation")
          None
      }
    }
  }
}
