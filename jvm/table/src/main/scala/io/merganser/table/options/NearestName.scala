package io.merganser.table.options

/** Finds the known name that an unknown one was probably meant to be. */
object NearestName {

  /**
   * The known name with the smallest edit distance, compared without case.
   *
   * @return None when even the nearest is farther than `within` edits
   */
  def of(unknown: String, known: Iterable[String], within: Int): Option[String] = {
    val wanted = unknown.toLowerCase(java.util.Locale.ROOT)
    val ranked = known.toSeq.distinct
      .filter(name => math.abs(name.length - wanted.length) <= within)
      .map(name => name -> distance(wanted, name.toLowerCase(java.util.Locale.ROOT)))
      .filter(_._2 <= within)
    if (ranked.isEmpty) None else Some(ranked.minBy { case (name, edits) => (edits, name) }._1)
  }

  /** Insertions, deletions, replacements and swaps of neighbours that turn one string into the other. */
  def distance(a: String, b: String): Int = {
    val rows = Array.ofDim[Int](a.length + 1, b.length + 1)
    for (i <- 0 to a.length; j <- 0 to b.length)
      rows(i)(j) =
        if (i == 0) j
        else if (j == 0) i
        else {
          val same  = if (a(i - 1) == b(j - 1)) 0 else 1
          val edits = math.min(math.min(rows(i - 1)(j), rows(i)(j - 1)) + 1, rows(i - 1)(j - 1) + same)
          if (i > 1 && j > 1 && a(i - 1) == b(j - 2) && a(i - 2) == b(j - 1)) math.min(edits, rows(i - 2)(j - 2) + 1)
          else edits
        }
    rows(a.length)(b.length)
  }
}
