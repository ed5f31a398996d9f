// Three rooms (merge <- table <- spark) for each Spark line, from one source tree; one jar a line.
// Spark's jars come from Maven, or from an installed pyspark with -Dspark.jars.dir=<pyspark>/jars.

import Dependencies.{Line, Spark35, Spark40, Spark41, Spark42}

ThisBuild / organization := "io.merganser"
ThisBuild / version      := "0.1.0"

/** The installed pyspark's jars, where they are of this line. */
def installedJars(line: Line): Option[File] = sys.props.get("spark.jars.dir").map(file).filter { dir =>
  dir.list.exists(jar => jar.startsWith("spark-sql_") && jar.contains(s"-${line.minor}."))
}

val openModules = Seq(
  "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
  "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs",
  "sun.security.action", "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") :+ "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED"

def warnings(line: Line): Seq[String] = {
  val both = Seq("-feature", "-unchecked", "-encoding", "utf8", "-Xlint")
  // One source serves four releases of every library: what a later one deprecates is the only name the first has.
  if (line.scala.startsWith("2.12")) both ++ Seq("-deprecation", "-Ywarn-unused", "-Xfatal-warnings", s"-release:${line.classFiles}")
  else both ++ Seq("-Wunused", "-Xlint:-byname-implicit", "-Werror", "-Wconf:cat=deprecation:s", s"-release:${line.classFiles}")
}

def room(name: String, line: Line): Project = {
  def dirs(base: File, kind: String) =
    Seq("scala", s"scala-spark${line.major}", s"scala-spark${line.minor}").map(d => base / "jvm" / name / "src" / kind / d)
  Project(s"$name${line.id}", file(s"jvm/.lines/${line.id}/$name")).settings(
    moduleName                           := s"merganser-$name-spark-${line.minor}",
    scalaVersion                         := line.scala,
    scalacOptions                       ++= warnings(line),
    Compile / doc / sources              := Nil,
    javacOptions                        ++= Seq("--release", line.classFiles, "-Xlint:-options"),
    Compile / unmanagedSourceDirectories := dirs((ThisBuild / baseDirectory).value, "main"),
    Test / unmanagedSourceDirectories    := dirs((ThisBuild / baseDirectory).value, "test"),
    Compile / unmanagedResourceDirectories := Seq((ThisBuild / baseDirectory).value / "jvm" / name / "src/main/resources"),
    Test / unmanagedResourceDirectories := Seq((ThisBuild / baseDirectory).value / "jvm" / name / "src/test/resources"),
    libraryDependencies ++= (if (installedJars(line).isDefined) Nil else Seq("org.apache.spark" %% "spark-sql" % line.spark % Provided)),
    Compile / unmanagedJars ++= installedJars(line).toSeq.flatMap(d =>
      (d ** ("*.jar" -- "scala-library-*" -- "scala-reflect*" -- "scala-compiler*")).classpath
    ),
    libraryDependencies     ++= Dependencies.test,
    Test / fork              := true,
    Test / baseDirectory     := (ThisBuild / baseDirectory).value,
    Test / parallelExecution := false,
    Test / javaHome          := sys.props.get("test.java.home").map(file),
    Test / javaOptions      ++= openModules ++ Seq("-Xmx2g", s"-Dmerganser.root=${(ThisBuild / baseDirectory).value}"),
    Test / testOptions       += Tests.Argument(TestFrameworks.ScalaTest, "-oDF")
  )
}

def mergeRoom(line: Line): Project = room("merge", line)

def tableRoom(line: Line, merge: Project): Project = room("table", line).dependsOn(merge % "compile->compile;test->test")

def sparkRoom(line: Line, merge: Project, table: Project): Project =
  room("spark", line)
    .dependsOn(table % "compile->compile;test->test")
    .settings(
      // The jar that users add: the classes of all three rooms.
      Compile / packageBin / mappings ++=
        (merge / Compile / packageBin / mappings).value ++ (table / Compile / packageBin / mappings).value,
      Compile / packageBin / artifactPath := (ThisBuild / baseDirectory).value / "jvm" / ".lines" / line.id /
        s"merganser-spark-${line.minor}_${line.scala.split('.').take(2).mkString(".")}-${version.value}.jar"
    )

lazy val merge35 = mergeRoom(Spark35)
lazy val table35 = tableRoom(Spark35, merge35)
lazy val spark35 = sparkRoom(Spark35, merge35, table35)
lazy val merge40 = mergeRoom(Spark40)
lazy val table40 = tableRoom(Spark40, merge40)
lazy val spark40 = sparkRoom(Spark40, merge40, table40)
lazy val merge41 = mergeRoom(Spark41)
lazy val table41 = tableRoom(Spark41, merge41)
lazy val spark41 = sparkRoom(Spark41, merge41, table41)
lazy val merge42 = mergeRoom(Spark42)
lazy val table42 = tableRoom(Spark42, merge42)
lazy val spark42 = sparkRoom(Spark42, merge42, table42)

lazy val root = project.in(file(".")).settings(publish / skip := true, Compile / unmanagedSourceDirectories := Nil)

/** `stage 35`: build that line's jar and put it where the Python package looks. */
commands += Command.single("stage") { (state, id) =>
  val extracted   = Project.extract(state)
  val (next, jar) = extracted.runTask(LocalProject(s"spark$id") / Compile / packageBin, state)
  IO.copyFile(jar, extracted.get(ThisBuild / baseDirectory) / "python/src/merganser/jars" / jar.getName)
  next
}
