package io.merganser.spark.sql

/**
 * A CALL statement, parsed into its name and arguments.
 *
 * @param name      of the procedure with its qualifiers, as written
 * @param arguments in the order in which they are written
 */
private[sql] final case class CallText(name: String, arguments: Seq[CallText.Argument])

private[sql] object CallText {

  /**
   * @param name  of the parameter; None for a positional argument
   * @param value its expression, as written
   * @param start offset of the value in the statement, in characters
   */
  final case class Argument(name: Option[String], value: String, start: Int)

  private val Word  = "(?:[A-Za-z_][A-Za-z0-9_]*|`(?:[^`]|``)+`)"
  private val Call  = s"(?is)\\s*CALL\\s+($Word(?:\\s*\\.\\s*$Word)*)\\s*\\((.*)\\)[\\s;]*".r
  private val Named = s"(?s)\\s*($Word)\\s*=>(.*)".r

  /**
   * None if the text is not a CALL. Comments are skipped, and syntax inside string literals is ignored.
   *
   * @param escapes whether a backslash in a string literal escapes the next character
   */
  def parse(text: String, escapes: Boolean): Option[CallText] =
    if (!text.toUpperCase(java.util.Locale.ROOT).contains("CALL")) None
    else {
      val (plain, masked) = read(text, escapes)
      Call.findFirstMatchIn(masked).filter(m => m.start == 0 && m.end == masked.length).map { found =>
        val from = found.start(2)
        CallText(plain.substring(found.start(1), found.end(1)), arguments(plain, masked, from, found.end(2)))
      }
    }

  private def arguments(plain: String, masked: String, from: Int, to: Int): Seq[Argument] =
    if (masked.substring(from, to).trim.isEmpty) Nil
    else {
      val commas = topLevelCommas(masked, from, to)
      (from +: commas.map(_ + 1)).zip(commas :+ to).map { case (start, end) =>
        masked.substring(start, end) match {
          case Named(_, _) =>
            val arrow = start + masked.substring(start, end).indexOf("=>")
            val name  = plain.substring(start, arrow).trim
            Argument(Some(if (name.startsWith("`")) name.substring(1, name.length - 1).replace("``", "`") else name),
              plain.substring(arrow + 2, end), arrow + 2)
          case _ => Argument(None, plain.substring(start, end), start)
        }
      }
    }

  private def topLevelCommas(masked: String, from: Int, to: Int): Seq[Int] = {
    var depth = 0
    (from until to).filter { at =>
      masked.charAt(at) match {
        case '(' | '[' => depth += 1; false
        case ')' | ']' => depth -= 1; false
        case ','       => depth == 0
        case _         => false
      }
    }
  }

  /** The text with its comments blanked, and the same with an x for every quoted character; lengths are unchanged. */
  private def read(text: String, escapes: Boolean): (String, String) = {
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
    (plain.toString, masked.toString)
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
