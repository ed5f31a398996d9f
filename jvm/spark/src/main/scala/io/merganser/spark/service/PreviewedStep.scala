package io.merganser.spark.service

/**
 * One thing that a service would do.
 *
 * @param action        a verb: compact, cluster, delete, archive, keep, restore, roll back, set, add, compare, differ;
 *                      of rows insert, update, delete, keep; count
 * @param item          what it is done to: a file, a file group, an instant, a property, a record key; of a count
 *                      `rows`, or the action that it counts
 * @param partitionPath of the item, if it is in one
 * @param files         that would be read or deleted for it
 * @param bytes         of those files
 * @param detail        more about it, a clause; may be empty
 * @param before        the row as JSON, the property or the number as it is; None if there is none
 * @param after         the same as it becomes
 */
final case class PreviewedStep(
    action: String,
    item: String,
    partitionPath: Option[String] = None,
    files: Int = 0,
    bytes: Long = 0,
    detail: String = "",
    before: Option[String] = None,
    after: Option[String] = None
) {
  override def toString: String =
    s"$action $item${partitionPath.filter(_.nonEmpty).fold("")(path => s" in $path")}" +
      (if (detail.isEmpty) "" else s": $detail")
}

private[spark] object PreviewedStep {

  /**
   * How many rows a service changes: of the item `rows` how many there are and how many come in their place, then the
   * same for each action that has rows. The steps that are rows are a sample of them.
   *
   * @param actions how many rows each has: insert, update, delete, keep
   */
  def rows(detail: String, actions: (String, Long)*): Seq[PreviewedStep] = {
    def count(item: String, counted: Seq[(String, Long)]): PreviewedStep = {
      def sum(without: String): Option[String] = Some(counted.filter(_._1 != without).map(_._2).sum.toString)
      PreviewedStep("count", item, before = sum("insert"), after = sum("delete"))
    }
    count("rows", actions).copy(detail = detail) +: actions.filter(_._2 > 0).map(one => count(one._1, Seq(one)))
  }
}
