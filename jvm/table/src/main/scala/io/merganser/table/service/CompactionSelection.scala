package io.merganser.table.service

import java.time.LocalDate
import java.time.format.DateTimeFormatter

import io.merganser.merge.MerganserException
import io.merganser.table.options.CompactionStrategy
import io.merganser.table.settings.CompactionChoice
import io.merganser.table.timeline.CompactionOperation

import scala.util.Try

/** The partitions and file slices that a scheduled compaction takes. */
object CompactionSelection {

  /**
   * The partitions that the strategies take, in the order of their paths; the others need not be listed.
   *
   * @param all   of the table
   * @param today in the table's timeline zone
   * @throws MerganserException PARTITION_NOT_A_DAY
   */
  def partitions(choice: CompactionChoice, all: Seq[String], today: LocalDate): Seq[String] =
    choice.strategies.foldLeft(all) { (left, strategy) =>
      strategy match {
        case CompactionStrategy.DayBased =>
          left.sortBy(values).takeRight(choice.partitions).sorted
        case CompactionStrategy.LastDays       => left.filterNot(isBefore(earliest(choice, today), strategy))
        case CompactionStrategy.BeforeLastDays => left.filter(isBefore(earliest(choice, today), strategy))
        case CompactionStrategy.PartitionRegex =>
          left.filter(path => choice.partitionPattern.forall(_.matcher(path).find()))
        case _ => left
      }
    }

  /** Those of the operations that the strategies take, in the order in which they are compacted. */
  def operations(choice: CompactionChoice, all: Seq[CompactionOperation]): Seq[CompactionOperation] =
    choice.strategies.foldLeft(all) { (left, strategy) =>
      strategy match {
        case CompactionStrategy.BoundedIo => bounded(left, choice.targetMegabytes)
        case CompactionStrategy.LogFileSize =>
          bounded(left.filter(_.logBytes >= choice.leastLogBytes).sortBy(-_.logBytes), choice.targetMegabytes)
        case CompactionStrategy.LogFileNum =>
          bounded(left.filter(_.logFiles.size >= choice.leastLogFiles).sortBy(-_.logFiles.size), choice.targetMegabytes)
        case _ => left
      }
    }

  /** Up to the one that reaches the limit. */
  private def bounded(operations: Seq[CompactionOperation], megabytes: Long): Seq[CompactionOperation] = {
    val before = operations.scanLeft(0.0)(_ + _.ioMegabytes)
    operations.zip(before).takeWhile { case (_, used) => used == 0.0 || used < megabytes }.map(_._1)
  }

  private def earliest(choice: CompactionChoice, today: LocalDate): LocalDate =
    today.minusDays(choice.partitions.toLong)

  private def isBefore(day: LocalDate, strategy: CompactionStrategy)(partition: String): Boolean =
    dayOf(partition).getOrElse(throw MerganserException("PARTITION_NOT_A_DAY", "partition" -> partition,
        "strategy" -> strategy)).isBefore(day)

  /** Of paths like `2024/01/02`, `2024-01-02`, `day=2024-01-02`, `year=2024/month=01/day=02`. */
  private def dayOf(partition: String): Option[LocalDate] =
    Try(LocalDate.parse(values(partition), Day)).toOption

  private def values(partition: String): String =
    partition.split('/').map(level => level.drop(level.indexOf('=') + 1)).mkString("/").replace('-', '/')

  private val Day = DateTimeFormatter.ofPattern("yyyy/MM/dd")
}
