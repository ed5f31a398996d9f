// A user's own merger, built by itself: `sbt package` makes the jar for spark.jars.
//
// It compiles against Merganser's jar and Spark. Both are found beside this folder after `./dev build`, or are named:
//   sbt -Dmerganser.jar=<jar> -Dspark.jars.dir=<pyspark>/jars package
// Without spark.jars.dir, Spark comes from Maven, in the line that Merganser's jar is made for.

name         := "orders-merger"
version      := "0.1.0"
organization := "orders"

val merganser: File = sys.props.get("merganser.jar").map(file).getOrElse {
  val staged = (file("../../python/src/merganser/jars") * "merganser-spark-3.5_*.jar").get
  staged.headOption.getOrElse(sys.error("no jar of Merganser: run `./dev build`, or give -Dmerganser.jar=<jar>"))
}

/** Spark and Scala of the line that the jar is made for: merganser-spark-3.5_2.12-0.1.0.jar. */
val released: (String, String) = Map(
  "3.5" -> ("3.5.9", "2.12.18"),
  "4.0" -> ("4.0.4", "2.13.16"),
  "4.1" -> ("4.1.3", "2.13.17"),
  "4.2" -> ("4.2.0", "2.13.18")
)(merganser.getName.stripPrefix("merganser-spark-").takeWhile(_ != '_'))

scalaVersion := released._2

Compile / unmanagedJars += Attributed.blank(merganser)

Compile / unmanagedJars ++= sys.props.get("spark.jars.dir").toSeq.flatMap(dir =>
  (file(dir) ** ("*.jar" -- "scala-library-*" -- "scala-reflect*" -- "scala-compiler*")).classpath)

libraryDependencies ++= (if (sys.props.contains("spark.jars.dir")) Nil
                         else Seq("org.apache.spark" %% "spark-sql" % released._1 % Provided))
