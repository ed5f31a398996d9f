package io.merganser.table.config

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

/** The page docs/config.md, made from the options themselves. */
object ConfigPage {

  val place: String = "docs/config.md"

  /** Writes the page; the argument is the project's folder. */
  def main(arguments: Array[String]): Unit = {
    val page: Path = Paths.get(arguments.headOption.getOrElse("."), place)
    Files.createDirectories(page.getParent)
    Files.write(page, render.getBytes(UTF_8))
    ()
  }

  def render: String = {
    val sections = Seq(OptionScope.OfTable, OptionScope.OfWrite, OptionScope.OfRead).map { scope =>
      s"## ${scope.title}\n\n${intro(scope)}\n\n" + Options.all.filter(_.scope == scope).map(entry).mkString("\n")
    }
    (head +: sections :+ refused :+ harmless).mkString("\n")
  }

  private val head =
    s"""# Options
       |
       |<!-- Made by io.merganser.table.config.ConfigPage from the options themselves; a test compares. Do not edit. -->
       |
       |Options keep the names they have in Hudi; ours begin with `spark.merganser.`. Names count in any case. Give them with
       |`.option(…)` on a read or a write, in `TBLPROPERTIES`, or in Spark's configuration, there also as `spark.hoodie.…`.
       |A name that nobody knows is an error that says which one was probably meant.
       |""".stripMargin

  private def intro(scope: OptionScope): String = scope match {
    case OptionScope.OfTable =>
      "Set when the table is created, and kept with it. A later write may repeat them; saying something else is an error."
    case OptionScope.OfWrite =>
      "The write's option wins over Spark's configuration, that over the table's own properties, those over the default."
    case OptionScope.OfRead => "The read's option wins over Spark's configuration."
  }

  private def entry(option: OptionEntry): String = {
    val default = option.default.fold("no default")(d => s"default `$d`")
    val others  = if (option.aliases.isEmpty) "" else option.aliases.map(a => s"`$a`").mkString(" Also: ", ", ", ".")
    s"- **`${option.key}`**: ${option.kind.describe}; $default; since ${option.since}.\n  ${option.doc}$others\n"
  }

  private def refused: String = {
    def row(r: ForeignOptions.Refused) =
      s"| `${r.key}` | ${if (r.accepted.isEmpty) "none" else r.accepted.map(a => s"`$a`").mkString(", ")} | ${r.remedy} |"
    val rows = (ForeignOptions.refused ++ ForeignOptions.refusedReading).map(row)
    s"""## Known and refused
       |
       |They would change rows or layout and are not done here. The value that asks for what is done anyway is accepted.
       |
       || option | accepted value | instead |
       ||---|---|---|
       |${rows.mkString("\n|")}
       |""".stripMargin
  }

  private def harmless: String =
    s"""## Known and without effect
       |
       |They tune how Hudi works and cannot change rows or layout; existing jobs keep them. All that begin with
       |
       |${ForeignOptions.harmlessPrefixes.map(p => s"`$p*`").mkString(", ")}
       |
       |(unless named above), and
       |
       |${ForeignOptions.harmless.map(n => s"`$n`").mkString(", ")}.
       |""".stripMargin
}
