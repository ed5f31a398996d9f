package io.merganser.merge

import scala.util.Random

/** Stored rows and the versions written after them. */
final case class History(base: Seq[Change], versions: Seq[Change]) {
  override def toString: String = s"""base = "${base.mkString(" ")}", versions = "${versions.mkString(" ")}""""

  /** Every history with one change fewer. */
  def smaller: Seq[History] =
    base.indices.map(i => copy(base = base.patch(i, Nil, 1))) ++ versions.indices.map(i =>
      copy(versions = versions.patch(i, Nil, 1)))
}

/** Stored rows and the batches written after them, in order. */
final case class Writes(base: Seq[Change], batches: Seq[Seq[Change]]) {
  override def toString: String =
    s"""base = "${base.mkString(" ")}", batches = ${batches.map(_.mkString(" ")).mkString("\"", "\", \"", "\"")}"""

  /** Every history with one change fewer. */
  def smaller: Seq[Writes] = base.indices.map(i => copy(base = base.patch(i, Nil, 1))) ++
    batches.indices.flatMap(i =>
      batches(i).indices.map(j => copy(batches = batches.updated(i, batches(i).patch(j, Nil, 1))))) ++
    batches.indices.filter(batches(_).isEmpty).map(i => copy(batches = batches.patch(i, Nil, 1)))
}

/**
 * Random histories: few keys and few ordering values, so that all cases occur, ties and nulls too.
 *
 * @param word a value that occurs often, if not empty
 */
final class Histories(partials: Boolean, word: String = "") {

  def history(seed: Long): History = {
    val random = new Random(seed)
    val keys   = 1 + random.nextInt(5)
    History(Seq.fill(random.nextInt(6))(row(random, keys)), Seq.fill(random.nextInt(13))(change(random, keys)))
  }

  /** Stored rows have distinct keys, as in a table without duplicates. */
  def writes(seed: Long): Writes = {
    val random = new Random(seed)
    val keys   = 1 + random.nextInt(5)
    val base   = Seq.fill(random.nextInt(6))(row(random, keys)).groupBy(_.key).values.map(_.head).toSeq
    Writes(base, Seq.fill(1 + random.nextInt(5))(Seq.fill(1 + random.nextInt(5))(change(random, keys))))
  }

  def change(random: Random, keys: Int): Change = random.nextInt(12) match {
    case 0 | 1 => row(random, keys).copy(values = Seq(None, None), isDelete = true)
    case 2     => row(random, keys).copy(ts = None, values = Seq(None, None), isDelete = true, ordered = false)
    case 3 | 4 if partials => partial(row(random, keys), random)
    case _                 => row(random, keys)
  }

  private def row(random: Random, keys: Int): Change =
    Change("k" + random.nextInt(keys), ordering(random), Seq(text(random), text(random)))

  private def ordering(random: Random): Option[Long] =
    if (random.nextInt(8) == 0) None else Some(random.nextInt(5).toLong - 1)

  private def text(random: Random): Option[String] =
    if (random.nextInt(4) == 0) None
    else if (word.nonEmpty && random.nextInt(3) == 0) Some(word)
    else Some(random.alphanumeric.take(1 + random.nextInt(3)).mkString)

  private def partial(row: Change, random: Random): Change = {
    val provided = Seq(random.nextInt(3) > 0, random.nextBoolean(), random.nextBoolean())
    if (provided.forall(identity)) row
    else
      row.copy(
        ts = if (provided.head) row.ts else None,
        values = row.values.zip(provided.tail).map { case (v, isProvided) => if (isProvided) v else None },
        provided = provided,
        inserts = random.nextBoolean()
      )
  }
}

object Histories {

  /** The seed of this run; set MERGANSER_SEED to that of a failure to reproduce it. */
  val seed: Long = sys.env.get("MERGANSER_SEED").fold(20240229L)(_.toLong)

  val count = 1000

  /**
   * Runs `check` on many histories. It returns the actual and the expected result; where they differ, the history is
   * shrunk as far as possible.
   */
  def forAll(
      partials: Boolean,
      word: String = "",
      count: Int = count
  )(check: (History, Random) => (Seq[String], Seq[String])): Unit = {
    val histories = new Histories(partials, word)
    search(count, histories.history, (h: History) => h.smaller)(check)
  }

  /** The same for histories of batches. */
  def forAllWrites(partials: Boolean, word: String = "", count: Int = count)(
      check: (Writes, Random) => (Seq[String], Seq[String])
  ): Unit = {
    val histories = new Histories(partials, word)
    search(count, histories.writes, (w: Writes) => w.smaller)(check)
  }

  private def search[H](
      count: Int,
      make: Long => H,
      smaller: H => Seq[H]
  )(check: (H, Random) => (Seq[String], Seq[String])): Unit =
    for (i <- 0 until count) {
      def outcome(history: H) =
        try {
          val (actual, expected) = check(history, new Random(seed + i))
          (actual.sorted, expected.sorted)
        } catch { case e: RuntimeException => (Seq(e.toString), Nil) }
      def fails(history: H)     = { val (actual, expected) = outcome(history); actual != expected }
      def shrink(history: H): H = smaller(history).find(fails).fold(history)(shrink)
      val history               = make(seed + i)
      if (fails(history)) {
        val small              = shrink(history)
        val (actual, expected) = outcome(small)
        throw new AssertionError(
          s"history $i of seed $seed: $small\n" +
            s"  came     ${actual.mkString(", ")}\n  expected ${expected.mkString(", ")}"
        )
      }
    }
}
