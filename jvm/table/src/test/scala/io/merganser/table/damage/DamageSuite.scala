package io.merganser.table.damage

import java.io.File
import java.lang.management.ManagementFactory
import java.util.concurrent._

import io.merganser.Extensive
import io.merganser.merge.{Histories, MerganserException}
import io.merganser.table.DirectTable
import io.merganser.table.storage.Storage
import org.scalatest.funsuite.AnyFunSuite

import scala.collection.mutable
import scala.util.Random
import scala.util.control.NonFatal

// Guarantee (Reads): A changed, missing or additional byte in any file is an error that names the file, or has no
//   effect on the rows, except where no checksum exists ([limits](#not-promised)); reading it ends within 5 seconds,
//   takes at most 64 MB more than the table's size and touches nothing outside the table. Also: FooterChecksumSuite,
//   test_a_read_of_a_changed_byte_fails_with_the_file_or_returns_the_right_rows
/**
 * Damaged files of tables that Hudi wrote and of our own: every read gives an error that names the file, or the right
 * rows, within 5 seconds and 64 MB above the table's size, and touches nothing outside the table.
 *
 * 1,000 inputs, or 10,000 with MERGANSER_FULL=1; MERGANSER_SEED draws others. The verdicts are printed by kind of file.
 */
@Extensive
final class DamageSuite extends AnyFunSuite {
  import DamageSuite._

  private val inputs = if (sys.env.get("MERGANSER_FULL").contains("1")) 10000 else 1000

  private lazy val golden: Seq[Source] = {
    val folder = new File(sys.props("merganser.root"), "tests/golden")
    folder.list.toSeq.filter(name => new File(folder, s"$name/table").isDirectory).sorted.map { name =>
      Source(MemoryTable.ofFolder(name, new File(folder, s"$name/table").toPath), isOurs = false)
    }
  }

  private lazy val ours: Seq[Source] = OurTables.all.map { case (name, build) =>
    val table = new MemoryTable(name)
    MemoryTable.mount(table)
    build(Storage(table.uri, MemoryTable.configuration))
    Source(table, isOurs = true)
  }

  test(s"$inputs damaged files: each read names the file in an error or returns the right rows") {
    val random  = new Random(Histories.seed)
    val sources = golden ++ Seq.fill(golden.size / ours.size)(ours).flatten
    val intact = (golden ++ ours).map(source =>
      source.table.name -> TableReads.all.map { case (read, of) =>
        MemoryTable.mount(source.table)
        read -> expected(of(Storage(source.table.uri, MemoryTable.configuration)))
      }.toMap).toMap
    val results = mutable.ArrayBuffer.empty[Result]
    val runner  = new Runner
    try
      for (input <- 0 until inputs) {
        val source = sources(random.nextInt(sources.size))
        val damage = new Damages(source.table, random).next()
        val table  = source.table.copy(s"$input")
        damage.changed.foreach { case (file, bytes) => table.put(file, bytes, 1800000000000L + input) }
        MemoryTable.mount(table)
        val storage    = Storage(table.uri, MemoryTable.configuration)
        val (read, of) = TableReads.all(math.max(0, random.nextInt(TableReads.all.size + 2) - 2)) // half are snapshots
        val right      = intact(source.table.name)(read)
        val outcome    = runner.run(of(storage))
        MemoryTable.unmount(table)
        results += Result(input, source, damage, read, verdict(outcome, source, damage, right, table), outcome)
      }
    finally runner.close()
    report(results.toSeq)
    val bad = results.filter(_.verdict.isFailure)
    if (bad.nonEmpty) fail(s"${bad.size} inputs of seed ${Histories.seed}: " + bad.take(5).map(shown).mkString("; "))
  }

  /** The rows, or the condition of an error that the intact table gives too, as for a time before the first one. */
  private def expected(read: => Seq[String]): Either[String, Seq[String]] =
    try Right(read)
    catch { case e: MerganserException if e.condition == "AS_OF_TOO_EARLY" => Left(e.condition) }

  private def verdict(
      outcome: Outcome,
      source: Source,
      damage: Damage,
      expected: Either[String, Seq[String]],
      table: MemoryTable
  ): Verdict =
    if (!table.outside.isEmpty) Outside
    else if (outcome.ms > LimitMs) Hang
    else if (outcome.allocated > LimitBytes + table.sizeBytes) Memory
    else outcome.result match {
      case Right(rows) =>
        if (expected == Right(rows)) RightRows
        else if (undetectable(source.isOurs, source.table, damage).isDefined) Undetected
        else WrongRows
      case Left(e: MerganserException) if expected == Left(e.condition) => RightRows
      case Left(e: MerganserException) =>
        if (names(e.getMessage, damage)) Named
        else if (undetectable(source.isOurs, source.table, damage).isDefined) OtherName
        else Unnamed
      // The engine sorts the rows of a file whose footer does not say that they are; this test's writer does not.
      case Left(e: AssertionError) if isOfWriter(e) => NotWritten
      case Left(_)                                  => Raw
    }

  private def isOfWriter(e: Throwable): Boolean =
    e.getStackTrace.exists(_.getClassName == classOf[DirectTable].getName)

  /** A file of the timeline is also named by its instant, and the properties by one of them. */
  private def names(message: String, damage: Damage): Boolean = damage.changed.keys.exists { file =>
    val name = file.split('/').last
    message.contains(name) || (FileKind.of(file) match {
      case "properties"                     => message.contains("hoodie.")
      case kind if kind.endsWith("instant") => message.contains(name.takeWhile(_.isDigit))
      case _                                => false
    })
  }

  test("a commit file of another commit and an emptied log before a later commit are errors") {
    def read(source: Source, files: (String, Array[Byte])*): MerganserException = {
      val table = source.table.copy(s"${source.table.name}-damaged")
      files.foreach { case (file, bytes) => table.put(file, bytes, 1900000000000L) }
      MemoryTable.mount(table)
      try intercept[MerganserException](TableReads.all.head._2(Storage(table.uri, MemoryTable.configuration)))
      finally MemoryTable.unmount(table)
    }
    val mor     = ours.find(_.table.name == "our_mor").get
    val commits = mor.table.paths.filter(_.endsWith(".deltacommit")).sorted
    val error   = read(mor, commits.last -> mor.table.bytes(commits.head))
    assert(error.condition == "TIMELINE_FILE_UNREADABLE" && error.getMessage.contains(commits.last))
    val rings = golden.find(_.table.name == "mor_consistent_buckets").get
    val log   = ".0c606f3f-da56-4263-8451-c2716753057d-0_20261122203248495.log.1_1-71-82"
    val empty = read(rings, log -> Array.emptyByteArray)
    assert(empty.condition == "LOG_BLOCK_UNREADABLE" && empty.getMessage.contains(log))
  }

  test("a length field of gigabytes in a commit or log is an error without allocating memory") {
    val table  = golden.find(_.table.name == "mor_log_only").get.table
    val commit = table.paths.filter(_.endsWith(".deltacommit")).max
    val log    = table.paths.filter(_.contains(".log.")).max

    def lengthAt(file: String, at: Int): Array[Byte] =
      table.bytes(file).patch(at, Seq[Byte](-2, -1, -1, -1, 15), 5)

    // The length of the schema in the commit's header, and the number of entries in the header of the log's block.
    val inCommit = new String(table.bytes(commit), "ISO-8859-1").indexOf("avro.schema") + "avro.schema".length
    val inLog    = 6 + 8 + 4 + 4
    val runner   = new Runner
    try
      Seq(commit -> lengthAt(commit, inCommit), log -> lengthAt(log, inLog)).foreach { case (file, bytes) =>
        val damaged = table.copy(s"huge-${file.length}")
        damaged.put(file, bytes, 1900000000001L)
        MemoryTable.mount(damaged)
        val outcome = runner.run(TableReads.all.head._2(Storage(damaged.uri, MemoryTable.configuration)))
        val error   = outcome.result.left.toOption.map(_.toString).getOrElse("")
        assert(error.contains("UNREADABLE") && error.contains(file.split('/').last), error)
        assert(outcome.allocated < (16L << 20))
        MemoryTable.unmount(damaged)
      }
    finally runner.close()
  }

  test(s"${inputs / 5} damaged own tables: each write names the file in an error or gives the right rows") {
    val random = new Random(Histories.seed + 1)
    val intact = (for { source <- ours; (name, write) <- OurTables.writes } yield {
      val table = source.table.copy(s"intact-${source.table.name}-$name")
      MemoryTable.mount(table)
      (source.table.name, name) -> write(Storage(table.uri, MemoryTable.configuration))
    }).toMap
    val results = mutable.ArrayBuffer.empty[Result]
    val runner  = new Runner
    try
      for (input <- 0 until inputs / 5) {
        val source = ours(random.nextInt(ours.size))
        val damage = new Damages(source.table, random).next()
        val table  = source.table.copy(s"${source.table.name}-$input")
        damage.changed.foreach { case (file, bytes) => table.put(file, bytes, 1800000000000L + input) }
        MemoryTable.mount(table)
        val (name, write) = OurTables.writes(random.nextInt(OurTables.writes.size))
        val outcome       = runner.run(write(Storage(table.uri, MemoryTable.configuration)))
        val right         = Right(intact((source.table.name, name)))
        results += Result(input, source, damage, name, verdict(outcome, source, damage, right, table), outcome)
        MemoryTable.unmount(table)
      }
    finally runner.close()
    report(results.toSeq)
    val bad = results.filter(_.verdict.isFailure)
    if (bad.nonEmpty) fail(s"${bad.size} inputs of seed ${Histories.seed}: " + bad.take(5).map(shown).mkString("; "))
  }

  private def shown(result: Result): String =
    s"${result.verdict}: ${result.read} of ${result.source.table.name} with ${result.damage} " +
      result.outcome.result.left.toOption.fold("")(_.toString.take(300))

  private def report(results: Seq[Result]): Unit = {
    results.groupBy(r => (r.source.isOurs, FileKind.of(r.damage.file))).toSeq.sortBy(_._1.toString).foreach {
      case ((isOurs, kind), some) =>
        val counts = some.groupBy(_.verdict).toSeq.sortBy(_._1.toString).map { case (v, of) => s"$v ${of.size}" }
        info(s"${if (isOurs) "ours" else "Hudi"}, $kind: ${counts.mkString(", ")}")
    }
    info(s"longest ${results.map(_.outcome.ms).max} ms, most memory ${results.map(_.outcome.allocated).max >> 20} MB")
    results.filter(_.verdict == Undetected)
      .groupBy(r => undetectable(r.source.isOurs, r.source.table, r.damage).mkString)
      .foreach { case (reason, some) => info(s"${some.size} with other rows: $reason") }
    results.filter(_.verdict.isFailure)
      .groupBy(r => (r.source.isOurs, FileKind.of(r.damage.file), r.verdict.toString, r.outcome.signature))
      .toSeq.sortBy(-_._2.size).foreach { case (kind, some) =>
        info(s"${some.size} of $kind")
        some.take(3).foreach(result => info(s"    #${result.input} ${shown(result)}"))
        some.head.outcome.result.left.foreach(_.getStackTrace.take(10).foreach(frame => info(s"        $frame")))
      }
  }
}

private object DamageSuite {
  val LimitMs    = 5000L
  val LimitBytes = 64L << 20

  /**
   * Damages that no reader can tell from a legal file, with the reason: the format has no checksum there, and other
   * engines store none. Ours are in commits and plans, in footers and pages of base files and for log blocks.
   */
  def undetectable(isOurs: Boolean, table: MemoryTable, damage: Damage): Option[String] = {
    val isOfVersion6 = isVersion6(table)
    FileKind.of(damage.file) match {
      case "properties"               => Some("of hoodie.properties only the table's names have a checksum")
      case "base file" if isOurs      => Some("headers of pages have no checksum")
      case "base file"                => Some("footers of other engines and headers of pages have no checksum")
      case "log file" if isOfVersion6 => Some("version 6 skips blocks that are cut short, and commits do not name logs")
      case "log file" if !isOurs      => Some("blocks of other engines have no checksum")
      case kind if (!isOurs || isOfVersion6) && kind.endsWith("instant") =>
        Some("commits and plans of other engines have no checksum")
      case "archived history" | "schema history" | "bucket metadata" =>
        Some("these files of other engines have no checksum")
      case "markers" => Some("a marker is a name, or a line of a file that has neither a length nor a checksum")
      case _         => None
    }
  }.filter(_ =>
    damage.isInPlace || damage.kind == "duplicated bytes" || damage.kind == "swapped files" ||
      Set("properties", "markers")(FileKind.of(damage.file)) || isVersion6(table))

  private def isVersion6(table: MemoryTable): Boolean =
    new String(table.bytes(".hoodie/hoodie.properties"), "UTF-8").contains("hoodie.table.version=6")

  final case class Source(table: MemoryTable, isOurs: Boolean)

  sealed abstract class Verdict(val isFailure: Boolean) extends Product with Serializable
  case object RightRows extends Verdict(false)
  case object Named extends Verdict(false)
  case object Unnamed extends Verdict(true)
  case object Raw extends Verdict(true)

  /** An error of another file that lacks a column, or has another type, than an undetectable damage has it. */
  case object OtherName extends Verdict(false)

  /** Other rows, for one of the reasons of [[undetectable]]. */
  case object Undetected extends Verdict(false)
  case object NotWritten extends Verdict(false)
  case object WrongRows extends Verdict(true)
  case object Hang extends Verdict(true)
  case object Memory extends Verdict(true)
  case object Outside extends Verdict(true)

  final case class Outcome(result: Either[Throwable, Seq[String]], ms: Long, allocated: Long) {
    def signature: String = result match {
      case Right(_)                    => "rows"
      case Left(e: MerganserException) => e.condition
      case Left(e) => s"${e.getClass.getName} ${e.getStackTrace.filter(_.getClassName.startsWith("io.merganser"))
            .take(2).map(f => s"${f.getFileName}:${f.getLineNumber}").mkString(" ")}"
    }
  }

  final case class Result(
      input: Int,
      source: Source,
      damage: Damage,
      read: String,
      verdict: Verdict,
      outcome: Outcome
  )

  /** Runs each input in a thread of its own that is given up when it hangs. */
  final class Runner {
    private val threads  = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]
    private var executor = Executors.newSingleThreadExecutor()

    def run(read: => Seq[String]): Outcome = {
      val began = System.nanoTime()
      val future = executor.submit(new Callable[Outcome] {
        override def call(): Outcome = {
          val id     = Thread.currentThread.getId
          val before = threads.getThreadAllocatedBytes(id)
          val result =
            try Right(read)
            catch { case e @ (NonFatal(_) | _: OutOfMemoryError | _: StackOverflowError) => Left(e) }
          Outcome(result, (System.nanoTime() - began) / 1000000, threads.getThreadAllocatedBytes(id) - before)
        }
      })
      try future.get(LimitMs, TimeUnit.MILLISECONDS)
      catch {
        case e: TimeoutException =>
          future.cancel(true)
          executor.shutdownNow()
          executor = Executors.newSingleThreadExecutor()
          Outcome(Left(e), LimitMs + 1, 0L)
      }
    }

    def close(): Unit = { executor.shutdownNow(); () }
  }
}
