package io.merganser.table.options

import java.util.Locale

/** Names of options and columns: how they are compared, and how SQL reads them. */
object Names {

  /** As names are compared that count in any case. */
  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Between backticks, so that SQL takes each letter as it is. */
  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"
}
