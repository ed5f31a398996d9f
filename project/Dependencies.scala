import sbt._

/** Every version number, once. */
object Dependencies {

  /** One Spark line: the newest release we build against, and the Scala it ships. */
  final case class Line(spark: String, scala: String, classFiles: String) {
    val minor: String = spark.split('.').take(2).mkString(".")
    val major: String = spark.takeWhile(_ != '.')
    val id: String    = minor.replace(".", "")
  }

  /** The default line first. */
  val Lines: Seq[Line] = Seq(
    Line("3.5.9", "2.12.18", "8"),
    Line("4.0.4", "2.13.16", "17"),
    Line("4.1.3", "2.13.17", "17"),
    Line("4.2.0", "2.13.18", "17")
  )

  val test: Seq[ModuleID] = Seq(
    "org.scalatest" %% "scalatest" % "3.2.19" % Test,
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
  )

  /** Spark, and what it ships of Hive's metastore client: for lines that are compiled without Spark's jars folder. */
  def provided(line: Line): Seq[ModuleID] = {
    val hive   = if (line.major == "3") "2.3.9" else "2.3.10"
    val client = Seq("hive-metastore", "hive-common").map("org.apache.hive" % _ % hive)
    val thrift = Seq("org.apache.thrift" % "libfb303" % "0.9.3", "org.apache.thrift" % "libthrift" % "0.12.0")
    ("org.apache.spark" %% "spark-sql" % line.spark % Provided) +: (client ++ thrift).map(_.intransitive() % Provided)
  }

  val jmh: Seq[ModuleID] = Seq(
    "org.openjdk.jmh" % "jmh-core" % "1.37",
    "org.openjdk.jmh" % "jmh-generator-annprocess" % "1.37" % Provided
  )
}
