package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{OptionScope, Options, OwnProperties, Settings}
import io.merganser.table.properties.TableConfig

/** Settings of a table that is there: which can be given, changed and taken away. */
object AlteredSettings {

  /**
   * What a property set or unset changes in `hoodie.properties`: settings of writes become the table's defaults. None for the
   * user's own words, and for settings that have no effect here.
   *
   * @param value none to take the property away
   * @throws MerganserException PROPERTY_FIXED for what the table was made with; UNKNOWN_OPTION, OPTION_VALUE_INVALID
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
        case Some(entry) if entry.scope == OptionScope.OfTable =>
          val stored = entry.names.flatMap(config.properties.get).find(_.nonEmpty)
          if (value.isEmpty || !stored.exists(s => settings.explicit(entry).exists(_.equalsIgnoreCase(s))))
            throw fixed(
              s"the table was made with ${stored.fold("none")(s => s"'$s'")}, and its rows and files depend on it")
          None
        case Some(_) => throw fixed("it is a setting of one read")
        case None =>
          if (settings.mergeProperties.nonEmpty || settings.stored.nonEmpty || config.properties.contains(key))
            throw fixed("its rows and files depend on what it was made with")
          None
      }
    }
  }
}
