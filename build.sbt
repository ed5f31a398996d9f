// Three modules (merge <- table <- spark) for each Spark line, from one source tree; one jar a line.
// Spark's jars come from Maven, or from installed pysparks with -Dspark.jars.dir=<pyspark>/jars[:<pyspark>/jars].

import Dependencies.{Line, Lines}

ThisBuild / organization := "io.merganser"
ThisBuild / version      := "0.1.0"

Global / onChangedBuildSource := IgnoreSourceChanges

/** The installed pyspark's jars of this line, where one of the given folders has them. */
def installedJars(line: Line): Option[File] = {
  val folders = sys.props.get("spark.jars.dir").toSeq.flatMap(_.split(java.io.File.pathSeparator)).map(file)
  folders.find(dir =>
    IO.listFiles(dir).exists(jar => jar.getName.startsWith("spark-sql_") && jar.getName.contains(s"-${line.minor}.")))
}

val openModules = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "jdk.internal.ref",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") :+ "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED"

/**
 * Tests run most code a few times: the second compiler and the parallel collector cost more than they return. With one
 * compiler the JVM reserves 48 MB for compiled code, most of which a long run would drop and compile again.
 */
val shortRuns = Seq("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC", "-XX:NewRatio=1",
  "-Djdk.lang.Process.launchMechanism=VFORK")

/** With -Dmerganser.tests=first, suites that take long do not run. */
val leftOut =
  if (sys.props.get("merganser.tests").contains("first"))
    Seq(Tests.Argument(TestFrameworks.ScalaTest, "-l", "io.merganser.Extensive"))
  else Nil

def warnings(line: Line): Seq[String] = {
  val both = Seq("-feature", "-unchecked", "-encoding", "utf8", "-Xlint")
  // One source serves four releases of every library and two of the compiler: what a later one deprecates is the only
  // name the first has, and where the first warns the later need not.
  if (line.scala.startsWith("2.12"))
    both ++ Seq("-deprecation", "-Ywarn-unused", "-Xfatal-warnings", s"-release:${line.classFiles}")
  else both ++ Seq("-Wunused", "-Xlint:-byname-implicit", "-Werror", "-Wconf:cat=deprecation:s,cat=unused-nowarn:s",
    s"-release:${line.classFiles}")
}

def module(name: String, line: Line): Project = {
  val since = Lines.map(_.minor).filter(_ <= line.minor)
  val names = Seq("java", "scala", s"scala-spark${line.major}", s"scala-spark${line.minor}") ++ since.map(minor =>
    s"scala-spark$minor+")

  def dirs(base: File, kind: String) = names.map(base / "jvm" / name / "src" / kind / _)
  Project(s"$name${line.id}", file(s"jvm/.lines/${line.id}/$name")).settings(
    moduleName   := s"merganser-$name-spark-${line.minor}",
    scalaVersion := line.scala,
    scalacOptions ++= warnings(line),
    Compile / doc / sources := Nil,
    javacOptions ++= Seq("--release", line.classFiles, "-Xlint:-options"),
    Compile / unmanagedSourceDirectories := dirs((ThisBuild / baseDirectory).value, "main"),
    Test / unmanagedSourceDirectories    := dirs((ThisBuild / baseDirectory).value, "test"),
    Compile / unmanagedResourceDirectories := Seq(
      (ThisBuild / baseDirectory).value / "jvm" / name / "src/main/resources"),
    Test / unmanagedResourceDirectories := Seq((ThisBuild / baseDirectory).value / "jvm" / name / "src/test/resources"),
    libraryDependencies ++= (if (installedJars(line).isDefined) Nil else Dependencies.provided(line)),
    Compile / unmanagedJars ++= installedJars(line).toSeq.flatMap(d =>
      (d ** ("*.jar" -- "scala-library-*" -- "scala-reflect*" -- "scala-compiler*")).classpath),
    libraryDependencies ++= Dependencies.test,
    Test / fork              := true,
    Test / baseDirectory     := (ThisBuild / baseDirectory).value,
    Test / parallelExecution := false,
    Test / javaHome          := sys.props.get("test.java.home").map(file),
    Test / javaOptions ++= openModules ++ shortRuns ++ Seq("-Xmx2g",
      s"-Dmerganser.root=${(ThisBuild / baseDirectory).value}"),
    Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS"),
    Test / testOptions ++= leftOut
  )
}

/** Copies a file over another in one step: who reads the old one goes on reading it. */
def replaceFile(from: File, to: File): Unit = {
  val copy = to.getParentFile / s".${to.getName}.new"
  IO.copyFile(from, copy, preserveLastModified = false)
  java.nio.file.Files.move(copy.toPath, to.toPath, java.nio.file.StandardCopyOption.ATOMIC_MOVE)
  ()
}

lazy val stageJar = taskKey[File]("The line's jar, in the Python package and alone of its line.")

lazy val stageMergers = taskKey[File]("The jar of the mergers that the conformance cases use, beside the cases.")

lazy val stageCosts = taskKey[File]("The jar with which `./dev bench` counts what an operation costs.")

/** Sources of those mergers, and of a payload class. */
val mergers  = "tests/conformance/mergers"
val payloads = "tests/conformance/payloads"

def mergeModule(line: Line): Project = module("merge", line).settings(
  Test / unmanagedSourceDirectories += (ThisBuild / baseDirectory).value / mergers
)

/** The mergers of the conformance cases, as a user's jar of its own. */
def mergersOf(line: Line, table: Project): Project = module("mergers", line).dependsOn(table).settings(
  Compile / unmanagedSourceDirectories := Seq(mergers, payloads).map((ThisBuild / baseDirectory).value / _),
  stageMergers := {
    val folder = (ThisBuild / baseDirectory).value / "tests" / "conformance" / "jars"
    val staged = folder / s"merganser-conformance-spark-${line.minor}.jar"
    replaceFile((Compile / packageBin).value, staged)
    staged
  }
)

/** Sources of what `./dev bench` counts with. */
val costs = "benchmarks/costs/src/main/java"

/** A listener and a file system that count, as a jar of its own: it is in no users' jar. */
def costsOf(line: Line): Project = module("costs", line).settings(
  Compile / unmanagedSourceDirectories := Seq((ThisBuild / baseDirectory).value / costs),
  stageCosts := {
    val staged = (ThisBuild / baseDirectory).value / "benchmarks" / "jars" / s"merganser-costs-spark-${line.minor}.jar"
    replaceFile((Compile / packageBin).value, staged)
    staged
  }
)

lazy val compileAhead =
  taskKey[Unit]("Compiles the classes beside another task. What needs them then reports a failure, and not this.")

def tableModule(line: Line, merge: Project): Project =
  module("table", line).dependsOn(merge % "compile->compile;test->test").settings(
    compileAhead := { (Compile / compile).result.value; () }
  )

/** The version that users have before this one: the newest section of the changelog with a date. */
def lastRelease(base: File, version: String): Option[String] = {
  val dated = """## (\S+) \(\d{4}-.*""".r
  IO.readLines(base / "CHANGELOG.md").collectFirst { case dated(before) if before != version => before }
}

/** Classes that users' code is compiled against. */
def publicClasses(base: File): Set[String] =
  IO.readLines(base / "api" / "merganser.txt").filter(_.startsWith("public ")).flatMap(line =>
    "(?:class|interface) (\\S+)".r.findFirstMatchIn(line).map(_.group(1))).toSet

/** What a jar for users has beside its classes or sources. */
def legalTexts(base: File): Seq[(File, String)] = Seq("LICENSE", "NOTICE").map(name => base / name -> s"META-INF/$name")

/** The jar that users add, or that of its sources: what all three modules have, in one. */
def allModules(kind: TaskKey[File], ending: String, line: Line, merge: Project, table: Project): Seq[Setting[_]] = Seq(
  Compile / kind / mappings ++=
    (merge / Compile / kind / mappings).value ++ (table / Compile / kind / mappings).value ++
      legalTexts((ThisBuild / baseDirectory).value),
  Compile / kind / artifactPath := (ThisBuild / baseDirectory).value / "jvm" / ".lines" / line.id /
    s"merganser-spark-${line.minor}_${line.scala.split('.').take(2).mkString(".")}-${version.value}$ending.jar"
)

def sparkModule(line: Line, merge: Project, table: Project): Project =
  module("spark", line)
    .dependsOn(table % "compile->compile;test->test")
    .settings(allModules(packageBin, "", line, merge, table))
    .settings(allModules(packageSrc, "-sources", line, merge, table))
    .settings(
      stageJar := {
        val jar    = (Compile / packageBin).value
        val folder = (ThisBuild / baseDirectory).value / "python" / "src" / "merganser" / "jars"
        val staged = folder / jar.getName
        replaceFile(jar, staged)
        IO.delete((folder * s"merganser-spark-${line.minor}_*.jar").get.filterNot(_ == staged))
        staged
      },
      mimaFailOnNoPrevious := false,
      mimaPreviousArtifacts := lastRelease((ThisBuild / baseDirectory).value, version.value).toSet.map(
        (before: String) => organization.value % s"merganser-spark-${line.minor}_${scalaBinaryVersion.value}" % before),
      mimaCurrentClassfiles := (Compile / packageBin).value,
      mimaBinaryIssueFilters += {
        val public = publicClasses((ThisBuild / baseDirectory).value)
        (problem: com.typesafe.tools.mima.core.Problem) =>
          problem.matchName.exists(name => public.exists(each => name == each || name.startsWith(s"$each.")))
      }
    )

/** The projects of one Spark line: the three modules, and the jars that users do not get. */
def projectsOf(line: Line): Seq[Project] = {
  val merge = mergeModule(line)
  val table = tableModule(line, merge)
  Seq(merge, table, sparkModule(line, merge, table), mergersOf(line, table), costsOf(line))
}

lazy val lines: CompositeProject = new CompositeProject {
  override def componentProjects: Seq[Project] = Lines.flatMap(projectsOf)
}

/** Writes what `java @file` needs to run the benchmark of the merge loop. */
lazy val javaArguments = taskKey[File]("The class path and flags of the merge loop's benchmark, for java.")

/** The benchmark of the merge loop: on the default line alone, in no jar. */
lazy val bench = module("bench", Lines.head)
  .dependsOn(LocalProject(s"merge${Lines.head.id}"))
  .settings(
    Compile / unmanagedSourceDirectories := Seq("java", "scala").map(
      (ThisBuild / baseDirectory).value / "benchmarks/merge-loop/src/main" / _),
    libraryDependencies ++= Dependencies.jmh :+ "org.scala-lang" % "scala-reflect" % scalaVersion.value,
    javacOptions := {
      val generated = (Compile / sourceManaged).value
      IO.createDirectory(generated)
      Seq("--release", "17", "-processor", "org.openjdk.jmh.generators.BenchmarkProcessor", "-s", generated.toString)
    },
    javaArguments := {
      val classPath = (Compile / fullClasspath).value.files.mkString(java.io.File.pathSeparator)
      val file      = baseDirectory.value / "java.args"
      IO.writeLines(file, openModules ++ Seq("-cp", "\"" + classPath.replace("\\", "\\\\") + "\""))
      file
    }
  )

lazy val root = project
  .in(file("."))
  .settings(
    publish / skip                       := true,
    Compile / unmanagedSourceDirectories := Nil,
    // One source tree serves all lines, so it is formatted once, from here.
    Compile / scalafmt / sourceDirectories :=
      (modules.map(module => s"jvm/$module/src") ++ Seq("benchmarks/merge-loop/src", mergers)).map(
        (ThisBuild / baseDirectory).value / _),
    Compile / scalafmt / unmanagedSources := ((Compile / scalafmt / sourceDirectories).value ** "*.scala").get,
    checkWidth := {
      val sources = ((Compile / scalafmt / sourceDirectories).value ** ("*.scala" || "*.java")) +++
        (baseDirectory.value * "*.sbt") +++ (baseDirectory.value / "project" * ("*.scala" || "*.sbt"))
      def wide(file: File) = IO.readLines(file).zipWithIndex.collect {
        case (line, i) if line.codePointCount(0, line.length) > 120 => s"$file:${i + 1}"
      }
      val found = sources.get.flatMap(wide)
      if (found.nonEmpty) sys.error(found.mkString("lines of more than 120 characters:\n", "\n", ""))
    }
  )

/** What scalafmt leaves as it is: comments, strings, and expressions that it finds no break for. */
lazy val checkWidth = taskKey[Unit]("No line of the sources has more than 120 characters.")

lazy val modules = Seq("merge", "table", "spark")

/** Runs each task though the one before failed; then sbt fails when everything else it was told to do is done. */
def runAll(state: State, command: String, tasks: Seq[(String, TaskKey[_])]): State =
  tasks.foldLeft(state) { case (before, (name, task)) =>
    val (after, result) = Project.runTask(task, before).getOrElse(sys.error(s"no task $name"))
    if (result.toEither.isRight) after
    else {
      before.log.error(s"not passed: $command $name")
      before.copy(remainingCommands = before.remainingCommands.filterNot(_ == notPassed) :+ notPassed)
    }
  }

lazy val notPassed = Exec("notPassed", None)

commands += Command.command(notPassed.commandLine)(_.fail)

/** Forgets what scalafmt remembers of earlier runs: it trips over files that are gone since then. */
def forgetting(state: State): State = {
  IO.delete((Project.extract(state).get(root / target) / "streams" / "compile" * "scalafmt*").get)
  state
}

/** `lint`: the Scala sources and the build are formatted, and no line is too wide. */
commands += Command.command("lint") { state =>
  runAll(forgetting(state), "lint",
    Seq("scala" -> (root / Compile / scalafmtCheck), "build" -> (root / Compile / scalafmtSbtCheck),
      "width" -> (root / checkWidth)))
}

/** `format`: formats them. */
commands += Command.command("format") { state =>
  runAll(forgetting(state), "format",
    Seq("scala" -> (root / Compile / scalafmt), "build" -> (root / Compile / scalafmtSbt)))
}

/** `tests 35`: the tests of every module of these lines, the lowest module first. */
commands += Command.args("tests", "<line>") { (state, lines) =>
  runAll(state, "tests",
    for (line <- lines; module <- modules) yield s"$module$line" -> (LocalProject(s"$module$line") / Test / test))
}

/** `stage 35`: builds these lines' jars and puts them where the Python package looks. */
commands += Command.args("stage", "<line>") { (state, lines) =>
  runAll(state, "stage",
    lines.flatMap(line =>
      Seq(line -> (LocalProject(s"spark$line") / stageJar), line -> (LocalProject(s"mergers$line") / stageMergers),
        line -> (LocalProject(s"costs$line") / stageCosts))))
}
