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
      val SqlText(plain, masked) = SqlText.read(text, escapes)
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
}
