package io.merganser.table.rule

import io.merganser.table.properties.TableConfig

/**
 * The merge mode and the ordering fields of a table as our commits record them, in their extra metadata. Other engines
 * ignore it. A table that has lost its properties is compared with it.
 */
object RecordedRule {

  private val Key = "merganser.rule"

  def of(config: TableConfig): Map[String, String] = Map(Key -> text(config))

  /**
   * How the rule of the newest commit that records one differs from that of properties: key, value, and what the commit
   * has. Another version has other properties for the same rule, and is skipped.
   *
   * @param extras of commits, the newest first
   */
  def contradiction(config: TableConfig, extras: Iterator[Map[String, String]]): Option[(String, String, String)] =
    extras.flatMap(_.get(Key)).map(parse).find(_.get("version").contains(config.version.toString)).flatMap { recorded =>
      val ordering = config.orderingFields.mkString(",")
      val mode     = MergeMode.of(config).name
      def differs(key: String, name: String, value: String) =
        recorded.get(name).filter(_ != value).map(of => (key, value, s"'$of'"))
      differs("hoodie.table.ordering.fields", "ordering", ordering)
        .orElse(differs("hoodie.record.merge.mode", "mode", mode))
    }

  private def text(config: TableConfig): String =
    s"version=${config.version};mode=${MergeMode.of(config).name};ordering=${config.orderingFields.mkString(",")}"

  private def parse(text: String): Map[String, String] =
    text.split(';').toSeq.map(_.split("=", 2)).collect { case Array(name, value) => name -> value }.toMap
}
