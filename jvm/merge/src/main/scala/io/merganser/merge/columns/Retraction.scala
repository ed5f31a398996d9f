package io.merganser.merge.columns

/**
 * Rows that take back what an earlier version added, such as those with a row as it was before an update. They are
 * subtracted from the columns that are sums; the other columns stay as they are.
 *
 * @param column that marks them
 * @param values of the column, any of which marks one; compared exactly
 */
final case class Retraction(column: String, values: Seq[String])
