package io.merganser.table.options

import java.util.Locale

import io.merganser.merge.{Json, MerganserException}

import scala.collection.JavaConverters._

/** The values an option may have; `parse` returns the canonical form. */
sealed abstract class OptionKind(val describe: String) extends Serializable {

  /** The canonical form, or None when the value is not of this kind. */
  def parse(value: String): Option[String]
}

object OptionKind {
  case object AnyString extends OptionKind("a string") {
    def parse(value: String): Option[String] = Some(value.trim)
  }

  /** Comma-separated names, of columns for the most part. */
  case object NameList extends OptionKind("names, comma separated") {
    def parse(value: String): Option[String] = Some(split(value).mkString(","))
    def split(value: String): Seq[String]    = value.split(",").map(_.trim).filter(_.nonEmpty).toSeq
  }

  /** Comma-separated paths, each with all its characters: a blank or `*` may belong to a name. */
  case object PathList extends OptionKind("paths, comma separated") {
    def parse(value: String): Option[String] = Some(value).filter(split(_).nonEmpty)
    def split(value: String): Seq[String]    = value.split(",").filter(_.nonEmpty).toSeq
  }

  /** Strings with any characters. */
  case object JsonStrings extends OptionKind("a JSON array of one or more non-empty strings") {
    def parse(value: String): Option[String] = scala.util.Try(split(value)).toOption.filter(_.nonEmpty).map(_ => value)
    def split(value: String): Seq[String] = {
      val array    = Json.readTree(value)
      val elements = array.elements.asScala.toList
      if (!array.isArray || elements.exists(e => !e.isTextual || e.asText.isEmpty)) Nil else elements.map(_.asText)
    }
  }

  case object Bool extends OptionKind("true or false") {
    def parse(value: String): Option[String] =
      Some(value.trim.toLowerCase(Locale.ROOT)).filter(v => v == "true" || v == "false")
  }

  /** An integer not below `least`; the unit is in the option's doc. */
  final case class Integer(least: Long) extends OptionKind(s"an integer, $least or more") {
    def parse(value: String): Option[String] =
      scala.util.Try(value.trim.toLong).toOption.filter(_ >= least).map(_.toString)
  }

  case object Fraction extends OptionKind("a number between 0 and 1") {
    def parse(value: String): Option[String] =
      scala.util.Try(value.trim.toDouble).toOption.filter(v => v > 0 && v < 1).map(_ => value.trim)
  }

  /**
   * One of the values, in any case.
   *
   * @param short    other spellings of a value
   * @param notDone  Hudi's values that are not supported, for an error that says so
   * @param instead  what to do instead of one of those, where that is more than setting another value
   */
  final case class OneOf(
      values: Seq[String],
      short: Map[String, String] = Map.empty,
      notDone: Seq[String] = Nil,
      instead: Map[String, String] = Map.empty
  ) extends OptionKind(values.mkString(", ")) {
    def parse(value: String): Option[String] =
      (values.map(v => v -> v) ++ short).collectFirst { case (name, v) if name.equalsIgnoreCase(value.trim) => v }
  }

  def oneOf(values: String*): OneOf = OneOf(values.toSeq)

  /** Several of Hudi's classes, comma separated, each by its full name or its last part, in any case. */
  final case class Classes(names: Seq[String])
      extends OptionKind(names.mkString("one or more of ", ", ", ", comma separated, with or without Hudi's package")) {
    def parse(value: String): Option[String] = {
      val found = NameList.split(value).map { given =>
        val name = if (given.toLowerCase(Locale.ROOT).startsWith("org.apache.hudi.")) given.split('.').last else given
        names.find(_.equalsIgnoreCase(name))
      }
      if (found.isEmpty || found.contains(None)) None else Some(found.flatten.mkString(","))
    }
  }
}

/** What an option belongs to. */
sealed abstract class OptionScope(val title: String)

object OptionScope {

  /** Stored with the table from its creation on; no write overrides it. */
  case object OfTable extends OptionScope("Of the table")
  case object OfWrite extends OptionScope("Of one write")
  case object OfRead extends OptionScope("Of one read")

  /** In effect only where the Spark application is started; no session, write or table changes it. */
  case object OfApplication extends OptionScope("Of the Spark application")
}

/**
 * One supported option.
 *
 * @param key     the name to use
 * @param default canonical value when none is set; None when there is no default
 * @param doc     one or two sentences: what it does, in which unit
 * @param since   first Merganser version that has it
 * @param aliases other names of the option, legacy or SQL's
 */
final case class OptionEntry(
    key: String,
    kind: OptionKind,
    default: Option[String],
    doc: String,
    scope: OptionScope,
    aliases: Seq[String] = Nil,
    since: String = "0.1.0"
) {
  def names: Seq[String] = key +: aliases

  /**
   * The canonical form of a value.
   *
   * @throws MerganserException OPTION_VALUE_INVALID or UNSUPPORTED_OPTION, naming the option as the user wrote it
   */
  def parse(value: String, givenKey: String): String = kind.parse(value).getOrElse {
    kind match {
      case one: OptionKind.OneOf if one.notDone.exists(_.equalsIgnoreCase(value.trim)) =>
        val remedy = one.instead.collectFirst { case (name, text) if name.equalsIgnoreCase(value.trim) => text }
        throw MerganserException("UNSUPPORTED_OPTION", "key" -> givenKey, "value" -> value,
          "remedy" -> remedy.getOrElse(s"Give one of ${kind.describe}"))
      case _ => throw MerganserException("OPTION_VALUE_INVALID", "key" -> givenKey, "value" -> value,
          "expected" -> kind.describe)
    }
  }
}
