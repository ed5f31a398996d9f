package io.merganser.spark.service

import io.merganser.ExtensiveTest
import io.merganser.merge.{MerganserException, Notation}
import io.merganser.spark.{LocalSession, MerganserCatalog}
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.WriteResult
import io.merganser.table.{DirectTable, FaultyFileSystem, Leftovers, TableSuite}
import io.merganser.table.commit.Transaction
import io.merganser.table.options.ClusteringUpdates
import io.merganser.table.settings.WriteConfig
import io.merganser.table.storage.{Progress, Storage}
import io.merganser.table.timeline.OperationType
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions._
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar.convertIntToGrainOfTime

// Guarantee (Services): A clustering changes no row, with logs, deletes, partial updates and all types, in every
//   version; filters on its columns then need fewer files. Also: ClusteringPlannerSuite, SpaceCurveSuite
/** Clusterings change no row, and sort what they write. */
final class ClusteringServiceSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[2]"

  override protected def settings: Map[String, String] =
    Map("spark.sql.catalog.spark_catalog" -> classOf[MerganserCatalog].getName)

  private val sizes = "hoodie.clustering.plan.strategy."

  private def stored(name: String): Storage =
    Storage(folder.resolve(name).toUri.toString, spark.sparkContext.hadoopConfiguration)

  private def cluster(table: Storage, options: (String, String)*): ClusteringResult = {
    val open = OpenTable.load(table)
    ClusteringService.scheduleAndRun(scope(open, options.toMap))
  }

  private def schedule(table: Storage, options: (String, String)*): Option[String] = {
    val open = OpenTable.load(table)
    ClusteringService.schedule(scope(open, options.toMap))
  }

  private def run(table: Storage, options: (String, String)*): ClusteringResult = {
    val open = OpenTable.load(table)
    ClusteringService.run(scope(open, options.toMap))
  }

  private def scope(table: OpenTable, options: Map[String, String]): ServiceScope =
    ServiceScope(spark, table, WriteConfig.parse(options, Map.empty, table.config))

  private def append(table: Storage, changes: String, more: (String, String)*): WriteResult =
    FrameWrite.append(spark, OpenTable.load(table), more.toMap, frame(Notation.changes(changes)))

  /** Rows with the commit that wrote them. */
  private def withCommitColumns(table: Storage): Seq[String] =
    read(table).select("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "*").collect().toSeq
      .map(_.toString).sorted

  private def plans(table: Storage): Int = OpenTable.load(table).timeline.plannedClusterings.size

  private def groups(table: Storage): Seq[String] =
    OpenTable.load(table).view.slices.map(s => s"${s.partitionPath}:${s.logs.size}")

  for ((version, mergeOnRead) <- Seq(("6", false), ("6", true), ("8", true), ("9", false), ("9", true)))
    test(
      s"version $version, ${if (mergeOnRead) "merge on read" else "copy on write"}: a clustering keeps rows and " +
        "commit times in fewer groups, and later writes work") {
      val table   = stored("t")
      val apart   = Map("hoodie.parquet.small.file.limit" -> "0")
      val created = options(mergeOnRead, bucketed = false) ++ apart + ("hoodie.write.table.version" -> version)
      upsert(table, Notation.changes("k1@10=a,p k2@10=b,q k3@10=c,r"), created)
      for (batch <- Seq("k4@11=d,s k5@11=e,t k6@11=f,u", "k1@20=A,P k2@20- k4@5=late,x", "k3@30=C,R k6@30-"))
        upsert(table, Notation.changes(batch), created - "hoodie.write.table.version")
      val before = withCommitColumns(table)
      val last   = OpenTable.load(table).timeline.completed.last.requested
      val result = cluster(table, s"${sizes}sort.columns" -> "v")
      assert(result.done.size == 1 && result.rowsWritten == 4 && result.filesWritten == 2 && result.filesReplaced >= 4)
      assert(withCommitColumns(table) == before && groups(table) == Seq("p0:0", "p1:0"))
      val timeline = OpenTable.load(table).timeline
      val done     = timeline.metadata(timeline.completed.last)
      assert(done.operationType == OperationType.Cluster && done.replaced.size == result.filesReplaced)
      assert(Leftovers.of(table).isEmpty)
      val travelled = spark.read.format("merganser").option("as.of.instant", last).load(table.toString)
      assert(travelled.count() == 4)
      append(table, "k1@40=Z,z k7@1=g,v k5@40-")
      assert(rows(table) == Seq("k1@40=Z,z", "k3@30=C,R", "k4@11=d,s", "k7@1=g,v"))
      assert(cluster(table).done.size == 1 && rows(table).size == 4)
      assert(append(table, "k1@50=Y,y").updatedOrAppended == 1 && rows(table).head == "k1@50=Y,y")
    }

  private implicit final class Counted(result: WriteResult) {
    def updatedOrAppended: Long = result.counts.updated + result.counts.appended
  }

  private def wide(count: Int): DataFrame = spark.range(count.toLong).select(
    col("id").cast("string").as("k"),
    (col("id") * 7919 % 1000).as("x"),
    when(col("id") % 10 =!= 0, ((col("id") * 104729) % 997).cast("int")).as("y"),
    struct(when(col("id") % 7 =!= 0, concat(lit("customer-"), lpad((col("id") * 31 % 500).cast("string"), 6, "0")))
        .as("name"), lit(1).as("n")).as("s"),
    (col("id") / 3.0).as("d"),
    lit("p").as("part")
  )

  private def created(name: String, rows: DataFrame): Storage = {
    val table = stored(name)
    val all = Map("hoodie.table.name" -> name, "hoodie.datasource.write.recordkey.field" -> "k",
      "hoodie.datasource.write.partitionpath.field" -> "part", "hoodie.datasource.write.operation" -> "bulk_insert",
      "hoodie.bulkinsert.shuffle.parallelism" -> "4", "hoodie.clean.automatic" -> "false")
    rows.write.format("merganser").options(all).mode("append").save(table.toString)
    table
  }

  private def read(table: Storage): DataFrame = spark.read.format("merganser").load(table.toString)

  /** How many files have values of a column around one, on the average of some. */
  private def filesWith(table: Storage, column: String, values: Seq[Any]): Double = {
    val ranges = read(table).groupBy("_hoodie_file_name").agg(min(column).as("a"), max(column).as("b"))
    val files  = ranges.collect()
    val counts = values.map(v =>
      files.count { row =>
        !row.isNullAt(1) && compare(row.get(1), v) <= 0 && compare(v, row.get(2)) <= 0
      })
    counts.sum.toDouble / values.size
  }

  private def compare(a: Any, b: Any): Int = (a, b) match {
    case (x: Number, y: Number) => java.lang.Double.compare(x.doubleValue, y.doubleValue)
    case _                      => a.toString.compareTo(b.toString)
  }

  private def content(table: Storage): Seq[String] = {
    val shown = read(table).schema.fields.toSeq.map { f =>
      if (f.dataType == org.apache.spark.sql.types.BinaryType) hex(col(f.name)) else col(f.name)
    }
    read(table).select(shown: _*).collect().map(_.toString).sorted.toSeq
  }

  test("files roll at the target size, and filters on a curve's columns read fewer of them", ExtensiveTest) {
    val small  = Seq(s"${sizes}target.file.max.bytes" -> "6000")
    val points = (0 until 1000 by 50).toSeq
    val names  = points.map(i => f"customer-${i / 2}%06d")
    val table  = created("t", wide(4000))
    val before = content(table)
    val sorted = cluster(table, small :+ (s"${sizes}sort.columns" -> "x,y"): _*)
    assert(sorted.filesWritten >= 12 && content(table) == before)
    val files        = sorted.filesWritten
    val (linX, linY) = (filesWith(table, "x", points), filesWith(table, "y", points))
    assert(linX < 3 && linY > files * 0.8, s"$linX $linY of $files")
    for (strategy <- Seq("ZORDER", "HILBERT"); method <- Seq("DIRECT", "SAMPLE")) {
      val order = Seq(s"${sizes}sort.columns" -> "x,Y", "hoodie.layout.optimize.strategy" -> strategy,
        "hoodie.layout.optimize.curve.build.method" -> method)
      val files  = cluster(table, small ++ order: _*).filesWritten
      val (x, y) = (filesWith(table, "x", points), filesWith(table, "y", points))
      assert(x < files * 0.6 && y < files * 0.6, s"$strategy $method: $x $y of $files")
      assert(content(table) == before, s"$strategy $method")
    }
    // Names have a common beginning, longer than the bytes that DIRECT takes.
    val nested = Seq(s"${sizes}sort.columns" -> "s.name,x", "hoodie.layout.optimize.strategy" -> "ZORDER",
      "hoodie.layout.optimize.curve.build.method" -> "SAMPLE")
    val many      = cluster(table, small ++ nested: _*).filesWritten
    val (name, x) = (filesWith(table, "s.name", names), filesWith(table, "x", points))
    assert(name < many * 0.6 && x < many * 0.6 && content(table) == before, s"$name $x of $many")
  }

  test("columns of every type but maps are sorted without losing rows, and unknown columns are refused") {
    val types =
      "k STRING, part STRING, b BOOLEAN, i TINYINT, s SHORT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(30, 2), " +
        "t STRING, y BINARY, day DATE, at TIMESTAMP, ntz TIMESTAMP_NTZ, st STRUCT<a: INT, b: STRING>, ar ARRAY<INT>, " +
        "m MAP<STRING, INT>"
    val full = spark.sql("SELECT '1' k, 'p' part, true b, 1Y i, 2S s, 3L l, float('nan') f, -0.0D d, 5BD n, 'x' t, " +
      "X'ff' y, date'2024-01-01' day, timestamp'2024-01-01 00:00:00' at, timestamp_ntz'2024-01-01 00:00:00' ntz, " +
      "named_struct('a', 1, 'b', 'z') st, array(1, null) ar, map('a', 1) m")
    val schema = org.apache.spark.sql.types.StructType.fromDDL(types)
    val nulls = spark.createDataFrame(java.util.Arrays.asList(
        Row.fromSeq(Seq("2", "p") ++ Seq.fill(schema.length - 2)(null)),
        Row.fromSeq(Seq("3", "p") ++ Seq.fill(schema.length - 2)(null))), schema)
    val cast   = full.select(schema.fields.toSeq.map(f => col(f.name).cast(f.dataType).as(f.name)): _*)
    val table  = created("t", cast.union(nulls))
    val before = content(table)
    val linear = schema.fieldNames.filterNot(Set("k", "part", "m"))
    for (column <- Seq(linear.mkString(","), "st.b,ar,k")) {
      cluster(table, s"${sizes}sort.columns" -> column)
      assert(content(table) == before, column)
    }
    val curve = linear.filterNot(Set("st", "ar")).mkString(",") + ",st.a"
    for (strategy <- Seq("ZORDER", "HILBERT"); method <- Seq("DIRECT", "SAMPLE")) {
      cluster(table, s"${sizes}sort.columns" -> curve, "hoodie.layout.optimize.strategy" -> strategy,
        "hoodie.layout.optimize.curve.build.method" -> method)
      assert(content(table) == before, strategy)
    }
    def condition(column: String, strategy: String = "LINEAR") = intercept[MerganserException](cluster(table,
        s"${sizes}sort.columns" -> column, "hoodie.layout.optimize.strategy" -> strategy)).condition
    assert(condition("m") == "CLUSTERING_COLUMN_UNSUPPORTED" && condition("st", "ZORDER") ==
      "CLUSTERING_COLUMN_UNSUPPORTED")
    assert(condition("nope") == "CLUSTERING_COLUMN_UNKNOWN" && condition("st.c") == "CLUSTERING_COLUMN_UNKNOWN")
    assert(plans(table) == 0)
  }

  for (mergeOnRead <- Seq(false, true))
    test(
      s"${if (mergeOnRead) "merge on read" else "copy on write"}: a write to groups of a planned clustering is " +
        "refused or rolls the plan back") {
      val table = stored("t")
      upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead, bucketed = false))
      val allow = "hoodie.clustering.updates.strategy" -> "SparkAllowUpdateStrategy"
      assert(schedule(table).isDefined && schedule(table).isEmpty, "groups of a planned clustering are left out")
      assert(intercept[MerganserException](append(table, "k1@2=b")).condition == "COMMIT_CONFLICT")
      append(table, "k3@2=c k4@2=c", allow)
      assert(rows(table) == Seq("k1@1=a", "k2@1=a", "k3@2=c", "k4@2=c") && plans(table) == 1)
      append(table, "k1@3=b", allow)
      assert(plans(table) == 0 && run(table).done.isEmpty)
      val planned = schedule(table)
      // Looks at no plan, as other engines may do.
      new DirectTable(table, bucketed = false,
        Transaction.Options(clusteringUpdates = ClusteringUpdates.Allow)).upsert(Notation.changes("k2@4=b"))
      assert(plans(table) == 1)
      val outdated = run(table)
      assert(outdated.done.isEmpty && outdated.skipped.map(s => (s.instant, s.isRolledBack)) ==
        Seq((planned.get, true)))
      assert(outdated.skipped.head.reason.contains("written to since it was planned") && plans(table) == 0)
      val expected = Seq("k1@3=b", "k2@4=b", "k3@2=c", "k4@2=c")
      assert(rows(table) == expected)
      assert(cluster(table).done.size == 1 && rows(table) == expected && Leftovers.of(table).isEmpty)
    }

  test("a write runs or schedules a clustering after the configured number of commits") {
    val table  = stored("t")
    val inline = Seq("hoodie.clustering.inline" -> "true", "hoodie.clustering.inline.max.commits" -> "2")
    upsert(table, Notation.changes("k1@1=a k3@1=a"), options(mergeOnRead = true, bucketed = false) ++ inline)
    assert(append(table, "k1@2=b", inline :+ ("hoodie.clustering.preserve.commit.metadata" -> "false"): _*)
        .notes.serviceFailure.isEmpty)
    val timeline = OpenTable.load(table).timeline
    assert(timeline.metadata(timeline.completed.last).operationType == OperationType.Cluster)
    assert(read(table).select("_hoodie_commit_time").distinct().collect().map(_.getString(0)).toSeq ==
      Seq(timeline.completed.last.requested))
    assert(groups(table) == Seq("p1:0") && rows(table) == Seq("k1@2=b", "k3@1=a"))
    val later = Seq("hoodie.clustering.schedule.inline" -> "true", "hoodie.clustering.inline.max.commits" -> "1")
    append(table, "k1@3=c", later: _*)
    assert(plans(table) == 1)
    append(table, "k2@3=c", later: _*)
    assert(plans(table) == 2 && run(table).done.size == 2 && rows(table) == Seq("k1@3=c", "k2@3=c", "k3@1=a"))
    val failed = append(table, "k1@4=d", inline.head, "hoodie.clustering.inline.max.commits" -> "1",
      s"${sizes}sort.columns" -> "nope")
    assert(failed.notes.serviceFailure.exists(_.contains("CLUSTERING_COLUMN_UNKNOWN")) && rows(table).head == "k1@4=d")
  }

  test("a failed inline clustering leaves no plan that would refuse the next writes") {
    val table = faulty("t")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = true, bucketed = false))
    // The update goes to a log.
    FaultyFileSystem.interrupting("create .*[.]parquet.*")(throw new java.io.IOException("of a test")) {
      val failed = append(table, "k1@2=b", "hoodie.clustering.inline" -> "true",
        "hoodie.clustering.inline.max.commits" -> "1", s"${sizes}single.group.clustering.enabled" -> "true")
      assert(failed.notes.serviceFailure.exists(_.contains("of a test")))
    }
    assert(plans(table) == 0)
    append(table, "k1@3=c")
    assert(rows(table) == Seq("k1@3=c", "k2@1=a") && Leftovers.of(table).isEmpty)
  }

  test("a failed planned clustering is reported, and the others of the call are run") {
    val table = faulty("t")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = false, bucketed = false))
    val planned = Seq("p0", "p1").flatMap(p => schedule(table, s"${sizes}partition.selected" -> p))
    assert(planned.size == 2)
    FaultyFileSystem.interrupting("create .*/p0/[^/]*[.]parquet.*")(throw new java.io.IOException("of a test")) {
      val failed = intercept[MerganserException](run(table))
      assert(failed.condition == "PLANNED_SERVICE_FAILED" && failed.parameters("instant") == planned.head)
      assert(failed.getMessage.contains("of a test") && failed.getMessage.contains("1 done"))
    }
    assert(plans(table) == 1 && run(table).done == planned.take(1))
    assert(rows(table) == Seq("k1@1=a", "k2@1=a") && Leftovers.of(table).isEmpty)
    // The only one: its own error.
    FaultyFileSystem.interrupting("create .*/p0/[^/]*[.]parquet.*")(throw new java.io.IOException("of a test")) {
      assert(intercept[Exception](cluster(table, s"${sizes}partition.selected" -> "p0")).getMessage.contains(
          "of a test"))
    }
    assert(plans(table) == 0, "planned for this run alone")
  }

  test("a running service shows its steps and describes its jobs") {
    val table = stored("t")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = false, bucketed = false))
    val seen = new java.util.concurrent.ConcurrentLinkedQueue[String]()
    val listener = new org.apache.spark.scheduler.SparkListener {
      override def onJobStart(start: org.apache.spark.scheduler.SparkListenerJobStart): Unit = {
        seen.add(String.valueOf(start.properties.getProperty("spark.job.description")))
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      val done = cluster(table).done.head
      eventually(timeout(60.seconds))(
        assert(seen.contains(s"clustering $done of ${OpenTable.load(table).config.name}")))
      assert(Progress.current.isEmpty && spark.sparkContext.getLocalProperty("spark.job.description") == null)
    } finally spark.sparkContext.removeSparkListener(listener)
  }

  test("compaction and clustering skip the groups of each other's plans") {
    val table = stored("t")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = true, bucketed = false))
    append(table, "k1@2=b")
    spark.sql(s"CALL run_compaction(op => 'schedule', path => '$table')").collect()
    schedule(table)
    val timeline = OpenTable.load(table).timeline
    assert(timeline.groupsInClustering.keys.map(_.partitionPath).toSeq == Seq("p0"))
    assert(timeline.groupsInCompaction.keys.map(_.partitionPath).toSeq == Seq("p1"))
    append(table, "k1@3=c")
    assert(run(table).done.size == 1)
    spark.sql(s"CALL run_compaction(op => 'run', path => '$table')").collect()
    assert(rows(table) == Seq("k1@3=c", "k2@1=a"))
  }

  test("clustering a table with a BUCKET index is refused before anything is planned") {
    val table = stored("t")
    upsert(table, Notation.changes("k1@1=a"), options(mergeOnRead = true, bucketed = true))
    assert(intercept[MerganserException](cluster(table)).condition == "CLUSTERING_OF_BUCKETS" && plans(table) == 0)
  }

  test("a clustering merges partial logs with their base file") {
    val table = stored("t")
    upsert(table, Notation.changes("k1@1=a,b k3@1=c,d"), options(mergeOnRead = true, bucketed = false))
    spark.sql(s"UPDATE merganser.`$table` SET v = 'new', ts = 2 WHERE k = 'k1'").collect()
    spark.sql(s"UPDATE merganser.`$table` SET w = 'newer', ts = 3 WHERE k = 'k1'").collect()
    spark.sql(s"DELETE FROM merganser.`$table` WHERE k = 'k3'").collect()
    val before = rows(table)
    assert(before == Seq("k1@3=new,newer") && groups(table).exists(!_.endsWith(":0")))
    cluster(table, s"${sizes}sort.columns" -> "w")
    assert(rows(table) == before && groups(table) == Seq("p1:0"))
  }

  test("later writes clean the groups that a clustering replaced and archive it") {
    val table = stored("t")
    upsert(table, Notation.changes("k1@1=a k2@1=a"), options(mergeOnRead = false, bucketed = false))
    val old = OpenTable.load(table).view.slices.flatMap(_.base).map(_.path)
    cluster(table)
    assert(old.forall(table.exists(_)))
    (2 to 8).foreach(i =>
      append(table, s"k1@$i=b k2@$i=b", "hoodie.clean.commits.retained" -> "1",
        "hoodie.keep.min.commits" -> "2", "hoodie.keep.max.commits" -> "3"))
    assert(!old.exists(table.exists(_)) && rows(table) == Seq("k1@8=b", "k2@8=b"))
    assert(OpenTable.load(table).timeline.completed.size <= 4)
  }
}
