package io.merganser.table.settings

import java.util.regex.Pattern

import io.merganser.table.options.OptionKind

/**
 * Partition paths that an option lists.
 *
 * @param names    paths as the table has them
 * @param patterns paths with `*` for any characters
 */
final case class PartitionPaths(names: Set[String], patterns: Seq[String]) extends (String => Boolean) {

  private val compiled = patterns.map { pattern =>
    Pattern.compile(pattern.split("\\*", -1).map(Pattern.quote).mkString(".*"), Pattern.DOTALL)
  }

  override def apply(path: String): Boolean = names(path) || compiled.exists(_.matcher(path).matches)
}

object PartitionPaths {

  /** Hudi's option: comma separated, those with `*` as patterns. */
  def ofList(value: String): PartitionPaths = {
    val (patterns, names) = OptionKind.PathList.split(value).partition(_.contains('*'))
    PartitionPaths(names.toSet, patterns)
  }

  /** A JSON array of names. */
  def ofNames(value: String): PartitionPaths = PartitionPaths(OptionKind.JsonStrings.split(value).toSet, Nil)
}
