package io.merganser.table

import scala.util.Random

/**
 * Which of many points an action is made to fail at: all with the environment variable MERGANSER_FULL=1, else one of
 * each few that follow one another, others with another MERGANSER_SEED.
 */
object DrawnPoints {

  val isFull: Boolean = sys.env.get("MERGANSER_FULL").contains("1")

  private val seed = sys.env.get("MERGANSER_SEED").fold(0L)(_.toLong)

  /** One of how many points is tried by default, unless a suite tries fewer. */
  private val Share = 6

  def of[T](points: Seq[T], share: Int = Share): Seq[T] =
    if (isFull) points
    else {
      val random = new Random(seed * 31 + points.hashCode)
      points.grouped(share).map(some => some(random.nextInt(some.size))).toSeq
    }

  /** Numbers from 1 on, of an action whose number of operations is not known before. */
  def numbers(what: String, share: Int = Share): Iterator[Int] =
    if (isFull) Iterator.from(1)
    else {
      val random = new Random(seed * 31 + what.hashCode)
      Iterator.from(0).map(_ * share + 1 + random.nextInt(share))
    }
}
