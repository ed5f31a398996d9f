package io.merganser.merge

import org.scalatest.funsuite.AnyFunSuite

import java.nio.file.{Files, Path, Paths}
import scala.collection.JavaConverters._

/**
 * [[KeyFold]] alone calls a rule, and nothing but a rule chooses a winner by its ordering: read from the main sources.
 */
class OneFoldSuite extends AnyFunSuite {
  import OneFoldSuite._

  /** Rules that delegate to the rules they wrap. */
  private val rules =
    Set("MergeRule", "PartialRule", "BatchRule", "FirstOfTies", "FillMissingRule", "payload/PartialUpdate").map(rule)

  /** Who compares ordering values, and what for. */
  private val comparing: Map[String, String] = Map(
    rule("RowOrder") -> "declares the order",
    rule("OrderingComparator") -> "is the order",
    rule("EventTimeRule") -> "is a rule",
    rule("FillMissingRule") -> "is a rule",
    rule("FirstOfTies") -> "is a rule",
    rule("RecordContext") -> "compares for users' mergers",
    rule("RowContext") -> "compares for users' mergers",
    rule("columns/Clock") -> "is the order of a rule of columns",
    rule("payload/MySqlDebezium") -> "is a rule, and its order",
    rule("payload/PostgresDebezium") -> "is a rule",
    rule("payload/ReverseOrder") -> "is a rule, and its order",
    "jvm/table/src/main/scala/io/merganser/table/rule/PayloadMerger.scala" ->
      "is a users' merger: a late-arriving delete loses",
    "jvm/table/src/main/scala/io/merganser/table/rule/CompiledRule.scala" -> "compiles rules",
    rule("KeyFold") -> "names ties and late-arriving versions, and decides nothing by them",
    "jvm/table/src/main/scala/io/merganser/table/slice/DecidingRows.scala" -> "chooses which stored rows are read",
    "jvm/table/src/main/scala/io/merganser/table/change/ChangeReason.scala" -> "names why a stored change won"
  )

  private val sources = mainSources

  test("KeyFold alone calls a rule") {
    val callers = sources.filter { case (_, text) => callsRule(text) }.keySet
    assert(callers.contains(rule("KeyFold")))
    assert((callers -- rules - rule("KeyFold")).isEmpty)
  }

  test("only rules and the listed classes compare ordering values") {
    assert((sources.filter { case (_, text) => compares(text) }.keySet -- comparing.keySet).isEmpty)
  }

  test("each listed class still calls a rule or compares values") {
    assert(rules.filterNot(path => callsRule(sources(path))).isEmpty)
    assert(comparing.keySet.filterNot(path => sources.get(path).exists(compares)).isEmpty)
  }

  test("calls of rules and comparisons are detected in any class") {
    assert(callsRule("class A(rule: MergeRule) { rule.merge(a, b) }"))
    assert(callsRule("class A(inner: MergeRule) { def x = inner.combine(a, b) }"))
    assert(callsRule("val compiled: MergeRule = f\n  compiled\n    .insert(a)"))
    assert(callsRule("val r = MergeRule.eventTime(layout)\nr.merge(a, b)"))
    assert(callsRule("val r = new CommitTimeRule\nseq.reduceLeft(r.merge(_, _))"))
    assert(!callsRule("class A(fold: KeyFold) { fold.merge(a, b) }"))
    assert(compares("private val order = new OrderingComparator(layout)"))
    assert(compares("def f(order: RowOrder)"))
    assert(compares("layout.orderingOrdinals.map(i => TypeUtils.getInterpretedOrdering(types(i)))"))
    assert(!compares("/** by an [[OrderingComparator]] */ val a = 1 // RowOrder"))
  }
}

object OneFoldSuite {

  private def rule(name: String): String = s"jvm/merge/src/main/scala/io/merganser/merge/$name.scala"

  /** Text of each main source of all modules, without comments, by its path from the root. */
  private def mainSources: Map[String, String] = {
    val root    = Paths.get(System.getProperty("merganser.root"))
    val modules = Files.list(root.resolve("jvm"))
    try {
      val found = for {
        module <- modules.iterator.asScala.toList
        main = module.resolve("src/main") if Files.isDirectory(main)
        file <- filesIn(main) if file.toString.endsWith(".scala") || file.toString.endsWith(".java")
      } yield root.relativize(file).toString -> code(new String(Files.readAllBytes(file), "UTF-8"))
      found.toMap
    } finally modules.close()
  }

  private def filesIn(folder: Path): List[Path] = {
    val files = Files.walk(folder)
    try files.iterator.asScala.toList
    finally files.close()
  }

  private def code(text: String): String = text.replaceAll("(?s)/\\*.*?\\*/", "").replaceAll("//[^\\n]*", "")

  private val Name     = "([A-Za-z_][A-Za-z0-9_]*)"
  private val Declared = s"$Name\\s*:\\s*(?:MergeRule|\\w+Rule|FirstOfTies)\\b".r
  private val Assigned =
    s"(?:val|var|def)\\s+$Name[^=\\n]*=\\s*(?:MergeRule\\.|new \\w+Rule\\b|new FirstOfTies\\b|\\w+Rule\\()".r
  private val CalledDirectly =
    "(?:Rule|FirstOfTies|rule)(?:\\([^()]*\\))?\\s*\\.\\s*(?:merge|combine|insert)\\s*\\(".r

  /** Whether a name that is a rule has a rule's method called on it, or passed on. */
  private def callsRule(text: String): Boolean = {
    val source = code(text)
    val names  = (Declared.findAllMatchIn(source) ++ Assigned.findAllMatchIn(source)).map(_.group(1)).toSet
    names.exists(name => s"\\b$name\\s*\\.\\s*(?:merge|combine|insert)\\b".r.findFirstIn(source).isDefined) ||
    CalledDirectly.findFirstIn(source).isDefined
  }

  private def compares(text: String): Boolean = {
    val source = code(text)
    "\\b(?:OrderingComparator|RowOrder|compareOrdering)\\b".r.findFirstIn(source).isDefined ||
    (source.contains("orderingOrdinals") && "\\b(?:get)?InterpretedOrdering\\b|\\bGenerateOrdering\\b".r.findFirstIn(
      source).isDefined)
  }
}
