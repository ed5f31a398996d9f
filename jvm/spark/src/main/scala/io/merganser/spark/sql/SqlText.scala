package io.merganser.spark.sql

/**
 * The text of a statement, to be matched by patterns.
 *
 * @param plain  with its comments blanked
 * @param masked the same with an x for every quoted character; lengths are those of the text
 */
private[sql] final case class SqlText(plain: String, masked: String)

private[sql] object SqlText {

  /** @param escapes whether a backslash in a string literal escapes the next character */
  def read(text: String, escapes: Boolean): SqlText = {
    val plain  = new java.lang.StringBuilder(text)
    val masked = new java.lang.StringBuilder(text)
    var at     = 0
    def blank(end: Int): Unit = {
      (at until end).foreach { i => plain.setCharAt(i, ' '); masked.setCharAt(i, ' ') }
      at = end
    }
    while (at < text.length) {
      val rest = text.charAt(at)
      if (text.startsWith("--", at)) blank(lineEnd(text, at))
      else if (text.startsWith("/*", at)) blank(commentEnd(text, at))
      else if (rest == '\'' || rest == '"' || rest == '`') {
        val end = quoteEnd(text, at, escapes && rest != '`' && !isRaw(text, at))
        if (rest != '`') (at + 1 until end - 1).foreach(masked.setCharAt(_, 'x'))
        at = end
      } else at += 1
    }
    SqlText(plain.toString, masked.toString)
  }

  private def lineEnd(text: String, from: Int): Int = {
    val end = text.indexWhere(c => c == '\n' || c == '\r', from)
    if (end < 0) text.length else end
  }

  /** Bracketed comments nest. */
  private def commentEnd(text: String, from: Int): Int = {
    var depth = 0
    var at    = from
    do if (text.startsWith("/*", at)) { depth += 1; at += 2 }
    else if (text.startsWith("*/", at)) { depth -= 1; at += 2 }
    else at += 1 while (depth > 0 && at < text.length)
    at
  }

  /** Offset after the closing quote. A doubled quote is scanned as the end of one literal and the start of another. */
  private def quoteEnd(text: String, from: Int, escapes: Boolean): Int = {
    var at = from + 1
    while (at < text.length && text.charAt(at) != text.charAt(from))
      at += (if (escapes && text.charAt(at) == '\\') 2 else 1)
    math.min(at + 1, text.length)
  }

  /** r'…' and R'…' have no escapes. */
  private def isRaw(text: String, quote: Int): Boolean =
    quote > 0 && (text.charAt(quote - 1) | 0x20) == 'r' && (quote == 1 || !Character.isJavaIdentifierPart(
      text.charAt(quote - 2)))
}
