package io.merganser.table.options

import java.util.Locale

/** Names of options and columns: how they are compared, and how SQL reads them. */
object Names {

  /** The form in which case-insensitive names are compared. */
  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  /** In backticks, so that SQL takes each character literally. */
  def quoted(name: String): String = "`" + name.replace("`", "``") + "`"

  /** A column, or a field inside structs such as `meta.region`, with each of its names in backticks. */
  def quotedPath(field: String): String = field.split('.').map(quoted).mkString(".")
}
