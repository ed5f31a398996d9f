package io.merganser

import java.nio.file.{Files, Path, Paths}

import org.scalatest.funsuite.AnyFunSuite

import scala.collection.JavaConverters._

/** Packages of the main sources use each other in one direction only, and each class has a name of its own. */
class PackagesSuite extends AnyFunSuite {
  import PackagesSuite._

  test("no package depends on itself by way of others") {
    val sources = mainSources(Paths.get(System.getProperty("merganser.root")))
    assert(sources.size > 200, "the main sources were not found")
    assert(cycles(sources).mkString("\n") == "")
  }

  test("a cycle of two packages is found with the lines that cause it") {
    val above = Source("Above.scala", "io.merganser.above", Seq("import io.merganser.below.Below"))
    val below = Source("Below.scala", "io.merganser.below", Seq("  val above = io.merganser.above.Above"))
    assert(cycles(Seq(above)).isEmpty)
    assert(cycles(Seq(above, below)) == Seq(
      "io.merganser.above uses io.merganser.below in Above.scala: import io.merganser.below.Below",
      "io.merganser.below uses io.merganser.above in Below.scala: val above = io.merganser.above.Above"))
  }

  test("no cycle of files has more than three files, except in the listed packages") {
    val sources = mainSources(Paths.get(System.getProperty("merganser.root")))
    val circles = fileCycles(sources).filter(_.size > 3)
    assert(circles.map(_.head.packageName) == LongCircles.toSeq.sorted, circles.map(_.map(_.file)).mkString("\n"))
  }

  test("a cycle of files is found, whichever file it begins with") {
    val rule   = Source("Rule.scala", "io.merganser.one", Seq("trait Rule", "object Rules { new Newest }"))
    val newest = Source("Newest.scala", "io.merganser.one", Seq("class Newest extends Rule { \"Other\" }"))
    val other  = Source("Other.scala", "io.merganser.one", Seq("class Other(rule: Rule)"))
    val apart  = Source("Apart.scala", "io.merganser.two", Seq("class Apart(newest: Newest)"))
    Seq(rule, newest, other, apart).permutations.foreach(sources =>
      assert(fileCycles(sources).map(_.map(_.file).toSet) == Seq(Set("Rule.scala", "Newest.scala"))))
  }

  test("no two classes have one simple name, but for the options of SQL and those of Java and Scala programs") {
    val sources = mainSources(Paths.get(System.getProperty("merganser.root")))
    assert(sharedNames(sources).keySet == Set("Options"))
  }

  test("a simple name of two packages is found") {
    val one = Source("One.scala", "io.merganser.one", Seq("private[one] final case class Row(a: Int)"))
    val two = Source("Two.scala", "io.merganser.two", Seq("object Row {", "  object Inner {"))
    assert(sharedNames(Seq(one, two, two)) == Map("Row" -> Set("io.merganser.one", "io.merganser.two")))
    assert(sharedNames(Seq(two, two)).isEmpty)
  }
}

private object PackagesSuite {

  /** @param lines without comments */
  final case class Source(file: String, packageName: String, lines: Seq[String])

  private val Qualified = """\bio\.merganser(?:\.\w+)*""".r
  private val Comment   = """(?s)/\*.*?\*/|//[^\n]*""".r

  def mainSources(root: Path): Seq[Source] = {
    val modules =
      Files.list(root.resolve("jvm")).iterator().asScala.map(_.resolve("src/main")).filter(Files.isDirectory(_))
    val files = modules.flatMap(Files.walk(_).iterator().asScala).filter(f =>
      f.toString.endsWith(".scala") || f.toString.endsWith(".java"))
    files.map { file =>
      val lines       = Comment.replaceAllIn(new String(Files.readAllBytes(file), "UTF-8"), "").split('\n').toSeq
      val packageName = lines.find(_.startsWith("package ")).fold("")(_.stripPrefix("package ").stripSuffix(";").trim)
      Source(file.getFileName.toString, packageName, lines)
    }.toSeq.sortBy(_.file)
  }

  private val TopLevel = ("""(?:(?:private|protected)(?:\[\w+\])? |(?:final|sealed|abstract|case|implicit|public|""" +
    """static) )*(?:class|object|trait|interface|enum) (\w+).*""").r

  private val Text = "\"(?:\\\\.|[^\"\\\\])*\"".r
  private val Name = "\\b[A-Z]\\w*".r

  /**
   * Packages with one circle of more than three files: rules and the choice among them, names in texts of statements,
   * footers and their sections, transactions and what they roll back, statistics and their forms, snapshots and the
   * readers that they open.
   */
  val LongCircles: Set[String] =
    Set("merge", "spark.sql", "table.base", "table.commit", "table.slice", "table.timeline").map("io.merganser." + _)

  /** Files of one package that use each other's top-level classes, directly or by way of others; each circle once. */
  def fileCycles(sources: Seq[Source]): Seq[Seq[Source]] =
    sources.groupBy(_.packageName).toList.sortBy(_._1).flatMap { case (_, files) =>
      val owner = files.flatMap(f => f.lines.collect { case TopLevel(name) => name -> f.file }).toMap
      val uses = files.groupBy(_.file).map { case (file, all) =>
        file -> all.flatMap(_.lines).flatMap(l => Name.findAllIn(Text.replaceAllIn(l, ""))).flatMap(owner.get)
          .filter(_ != file).toSet
      }
      def reachable(known: Set[String]): Set[String] = {
        val more = known ++ known.flatMap(uses)
        if (more == known) known else reachable(more)
      }
      val reached = uses.map { case (file, used) => file -> reachable(used) }
      val circles = uses.keys.filter(f => reached(f)(f)).map(f => reached(f).filter(reached(_)(f))).toSet
      circles.toList.map(names => files.filter(f => names(f.file))).sortBy(_.head.file)
    }

  /** Names of top-level classes that several packages have, with these packages; a line of Spark may replace a file. */
  def sharedNames(sources: Seq[Source]): Map[String, Set[String]] =
    sources.flatMap(s => s.lines.collect { case TopLevel(name) => name -> s.packageName })
      .groupBy(_._1).map { case (name, found) => name -> found.map(_._2).toSet }.filter(_._2.size > 1)

  /** Each use of a package that is part of a cycle, as text; empty where there is none. */
  def cycles(sources: Seq[Source]): Seq[String] = {
    val packages = sources.map(_.packageName).toSet
    def packageOf(name: String): Option[String] =
      Iterator.iterate(name)(n => n.take(math.max(0, n.lastIndexOf('.')))).takeWhile(_.nonEmpty).find(packages)
    val uses = for {
      source <- sources
      line   <- source.lines if !line.startsWith("package ")
      name   <- Qualified.findAllIn(line).toSeq
      used   <- packageOf(name).toSeq if used != source.packageName
    } yield (source.packageName, used, s"${source.file}: ${line.trim}")
    val next = uses.groupBy(_._1).map { case (from, found) => from -> found.map(_._2).toSet }
    def reachable(from: String): Set[String] = {
      def grow(known: Set[String]): Set[String] = {
        val more = known ++ known.flatMap(next.getOrElse(_, Set.empty))
        if (more == known) known else grow(more)
      }
      grow(next.getOrElse(from, Set.empty))
    }
    val reached = packages.map(p => p -> reachable(p)).toMap
    uses.filter { case (from, used, _) => reached(used)(from) }
      .map { case (from, used, where) => s"$from uses $used in $where" }.distinct.sorted
  }
}
