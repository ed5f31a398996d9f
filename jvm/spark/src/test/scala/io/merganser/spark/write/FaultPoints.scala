package io.merganser.spark.write

import java.nio.file.{Path => NioPath}

import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.table.{DirectTable, FaultyFileSystem, FolderState, Leftovers, TableSuite}
import io.merganser.table.FaultyFileSystem._
import io.merganser.table.schema.MetaColumns
import io.merganser.table.storage.{Storage, TableLock}
import org.apache.commons.io.FileUtils
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types.{BooleanType, StringType, StructType}

import scala.collection.JavaConverters._
import scala.collection.mutable

/**
 * Faults of the file system at the operations of an action through Spark.
 *
 * With the environment variable MERGANSER_FULL=1 these are all: each operation fails once without effect; each one that
 * changes what is stored also takes effect and fails, is done by half, hangs, and is the first one that has no effect,
 * as after the death of the process. Operations that only read make no difference to a death. What readers and the next
 * write do is checked once for each different folder that an action left ([[FolderState]]): both depend on nothing
 * else. Otherwise some points of all these kinds are drawn, MERGANSER_POINTS of each action if it is set, and others
 * with another MERGANSER_SEED.
 */
trait FaultPoints extends LocalSession { this: TableSuite =>

  protected val isFull: Boolean = sys.env.get("MERGANSER_FULL").contains("1")

  /** For statements that name a table by its path. */
  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  /** Points of an action that are tried unless all are. */
  protected def pointsOfAction: Int = 2

  private lazy val drawn = sys.env.get("MERGANSER_POINTS").fold(pointsOfAction)(_.toInt)

  private val seed = sys.env.get("MERGANSER_SEED").map(_.toLong).getOrElse(0L)

  private var tried   = 0
  private var actions = 0

  override def afterAll(): Unit =
    try alert(s"$suiteName: $tried points tried")
    finally super.afterAll()

  /** Columns and rows that a reader sees, in a session of its own. */
  protected type Seen = FaultPoints.Seen

  protected def seen(storage: Storage): Seen = {
    val frame   = spark.newSession().read.format("merganser").load(storage.toString)
    val columns = frame.columns.toSeq.filterNot(MetaColumns.isMeta)
    FaultPoints.Seen(columns,
      sorted(frame.selectExpr(columns: _*).collect().toSeq.map(row => columns.zip(row.toSeq).toMap)))
  }

  private def sorted(rows: FaultPoints.Rows): FaultPoints.Rows = rows.sortBy(_.toString)

  /**
   * Runs an action on copies of a table with a fault at each point: a reader sees the rows and columns of before or of
   * after it, after it if it succeeded; the next write succeeds, and nothing else remains in the table's folder.
   *
   * @param options  of the next write
   * @param finishes completes in the table what the action may have left to do, if it may
   */
  protected def everyPoint(
      prepared: NioPath,
      options: Map[String, String],
      finishes: Storage => Unit = _ => ()
  )(work: Storage => Unit): Unit = {
    val old = seen(copy(prepared, "old"))
    val all = copy(prepared, "all")
    work(all)
    val changed = seen(all)
    points(prepared)(work) { (storage, isDone, failed) =>
      val now = seen(storage)
      assert(if (isDone) now == changed else now == old || now == changed, failed)
      assertGoesOn(storage, options, now, failed)
      finishes(storage)
      assert(Leftovers.of(storage).isEmpty, failed)
    }
  }

  /** The next write changes one row and adds one, and then nothing is left of what failed before. */
  protected def assertGoesOn(
      storage: Storage,
      options: Map[String, String],
      now: Seen,
      failed: Option[String]
  ): Unit = {
    Leftovers.age(storage)
    val schema = StructType(spark.read.format("merganser").load(storage.toString).schema
        .filterNot(f => MetaColumns.isMeta(f.name)).map(_.copy(nullable = true)).toArray) match {
      case columns if columns.nonEmpty => columns
      case _                           => DirectTable.schema
    }
    val added: Map[String, Any] = schema.fields.map { f =>
      f.name -> (f.name match {
        case "k"                              => "n1"
        case "part"                           => DirectTable.partitionOf("n1")
        case "ts"                             => 1000L
        case _ if f.dataType == BooleanType   => false
        case name if f.dataType == StringType => s"new $name"
        case _                                => null
      })
    }.toMap
    val changed = now.rows.headOption.map(_ + ("ts" -> 1000L))
    val rows    = changed.toSeq :+ added
    spark.createDataFrame(rows.map(row => Row.fromSeq(schema.fieldNames.toSeq.map(row))).asJava, schema)
      .write.format("merganser").options(options).mode("append").save(storage.toString)
    val expected = now.rows.drop(1) ++ rows
    assert(seen(storage).rows == sorted(expected), failed)
  }

  /** Runs the work on copies of a table with a fault at each point, and then the check. */
  protected def points(prepared: NioPath)(work: Storage => Unit)(check: (
      Storage,
      Boolean,
      Option[String]
  ) => Unit): Unit = {
    spark.sparkContext.setInterruptOnCancel(true)
    val counted    = copy(prepared, "counted")
    val recorded   = FaultyFileSystem.recordedWithCallers(work(counted))
    val operations = recorded.map(_._1)
    FileUtils.deleteDirectory(folder.resolve("counted").toFile)
    actions += 1
    val chosen  = if (isFull) withoutRepeatedReads(all(operations), recorded) else some(all(operations))
    val states  = new FolderState(prepared)
    val checked = mutable.Set.empty[(Boolean, Seq[String])]
    for (((n, fault), i) <- chosen.zipWithIndex) {
      val name    = s"point-$i"
      val storage = copy(prepared, name)
      val (done, at) = fault match {
        case hung: Hung => FaultyFileSystem.hanging(n, hung)(giveUp)(work(storage))
        case _          => FaultyFileSystem.failing(n, fault)(work(storage))
      }
      val failed = at.map(operation => s"$fault: operation $operation ${fault.name}; ended in $done")
      try
        // Another thread that goes on holding the lock is no part of the folder.
        if (isFull && !checked.add(done.isRight -> states.of(folder.resolve(name)))) TableLock.hold(storage)(_ => ())
        else check(storage, done.isRight, failed)
      catch {
        case e: Exception if !e.isInstanceOf[org.scalatest.exceptions.TestFailedException] =>
          throw new AssertionError(s"$failed: $e", e)
      }
      FileUtils.deleteDirectory(folder.resolve(name).toFile)
    }
    tried += chosen.size
    info(s"${operations.size} operations, ${operations.count(isChange)} of them changes; ${chosen.size} points" +
      (if (isFull) s", which left ${checked.size} different folders" else ""))
    assert(operations.size > 5)
  }

  private def giveUp(caller: Thread): Unit = {
    spark.sparkContext.cancelAllJobs()
    caller.interrupt()
  }

  private def all(operations: Seq[String]): Seq[(Int, Fault)] = {
    val numbered = operations.zipWithIndex.map { case (what, i) => (i + 1, what) }
    val changes  = numbered.filter { case (_, what) => isChange(what) }
    val halves = changes.filter { case (_, what) => Seq("write", "close", "delete").contains(what.takeWhile(_ != ' ')) }
    numbered.map(_._1 -> Before) ++ changes.map(_._1 -> Dead) ++ changes.lastOption.map(_._1 -> DeadAfter) ++
      changes.map(_._1 -> After) ++ halves.map(_._1 -> Lost) ++
      changes.zipWithIndex.map { case ((n, _), i) => n -> Hung(takesEffect = i % 2 == 0) }
  }

  /**
   * Of reads that the same lines of code call, with no change of the table between them, one: their failures are equal.
   */
  private def withoutRepeatedReads(points: Seq[(Int, Fault)], recorded: Seq[(String, Int)]): Seq[(Int, Fault)] = {
    val changes         = recorded.scanLeft(0) { case (n, (what, _)) => if (isChange(what)) n + 1 else n }
    val (reads, others) = points.partition { case (n, _) => !isChange(recorded(n - 1)._1) }
    val different       = mutable.Set.empty[(Int, Int)]
    reads.filter { case (n, _) => different.add(changes(n - 1) -> recorded(n - 1)._2) } ++ others
  }

  /** One of each of as many equal parts, deaths first: the parts begin with their kinds. */
  private def some(points: Seq[(Int, Fault)]): Seq[(Int, Fault)] = {
    val random = new scala.util.Random(seed * 31 + actions)
    val size   = math.max(1, points.size / drawn)
    (0 until math.min(drawn, points.size)).map { i =>
      points(math.min(points.size - 1, i * size + random.nextInt(size)))
    }
  }

  protected def copy(prepared: NioPath, name: String): Storage = {
    FileUtils.copyDirectory(prepared.toFile, folder.resolve(name).toFile)
    faulty(name)
  }

  protected def write(
      storage: Storage,
      notation: String,
      options: Map[String, String],
      mode: String = "append",
      session: SparkSession = spark
  ): Unit =
    frame(io.merganser.merge.Notation.changes(notation), session).write.format("merganser").options(options).mode(mode)
      .save(storage.toString)
}

object FaultPoints {

  type Rows = Seq[Map[String, Any]]

  final case class Seen(columns: Seq[String], rows: Rows)
}
