package io.merganser.table.slice

/** Timestamps in partition paths. */
object PathTimes {
  private val Escaped = "%([0-9A-Fa-f]{2})".r

  /**
   * Microseconds since 1970 of a level without the column's name: a number of them, or a date with a time in the JVM's
   * zone, which may be encoded.
   *
   * @throws IllegalArgumentException if it is neither
   */
  def micros(level: String): Long =
    if (level.matches("-?\\d+")) level.toLong
    else java.sql.Timestamp.valueOf(unescaped(level)).getTime * 1000L

  def unescaped(text: String): String = Escaped.replaceAllIn(text,
    found => java.util.regex.Matcher.quoteReplacement(Integer.parseInt(found.group(1), 16).toChar.toString))
}
