package io.merganser.table.index

import io.merganser.merge.MerganserException

import java.util.regex.{Pattern, PatternSyntaxException}

import scala.util.Try

/**
 * Numbers of buckets by partition: of the first pattern that a partition path matches as a whole, else the default.
 *
 * @param patterns of partition paths, with their numbers of buckets, in order of precedence
 */
final case class BucketRule(patterns: Seq[(String, Int)]) {
  @transient private[this] lazy val compiled: Seq[(Pattern, Int)] =
    patterns.map { case (pattern, count) => Pattern.compile(pattern) -> count }

  def buckets(partitionPath: String, default: Int): Int =
    compiled.collectFirst { case (pattern, count) if pattern.matcher(partitionPath).matches() => count }
      .getOrElse(default)
}

object BucketRule {

  /**
   * @param expressions `pattern,count;pattern,count`
   * @param option      its name, for errors
   * @throws io.merganser.merge.MerganserException OPTION_VALUE_INVALID
   */
  def parse(expressions: String, option: String): BucketRule =
    BucketRule(expressions.split(';').toSeq.map(_.trim).filter(_.nonEmpty).map { expression =>
      val at      = expression.lastIndexOf(',')
      val pattern = expression.take(at).trim
      val count   = Try(expression.drop(at + 1).trim.toInt).toOption.filter(_ > 0)
      val isValid =
        try { Pattern.compile(pattern); pattern.nonEmpty }
        catch { case _: PatternSyntaxException => false }
      if (!isValid || count.isEmpty)
        throw MerganserException("OPTION_VALUE_INVALID", "key" -> option, "value" -> expressions,
          "expected" -> "pattern,count;pattern,count with regular expressions and counts from 1")
      pattern -> count.get
    })
}
