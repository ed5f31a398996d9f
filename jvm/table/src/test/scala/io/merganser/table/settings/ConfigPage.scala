package io.merganser.table.settings

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import io.merganser.table.options.{
  ForeignOptions,
  HudiOptions,
  IgnoredOptions,
  OptionEntry,
  OptionScope,
  Options,
  OtherFormats
}

/** The page docs/config.md, generated from the options; run, it writes their constants ([[OptionConstants]]) too. */
object ConfigPage {

  val place: String = "docs/config.md"

  /** Writes the page and the constants; the argument is the project's folder. */
  def main(arguments: Array[String]): Unit = {
    val root: Path = Paths.get(arguments.headOption.getOrElse("."))
    val page       = root.resolve(place)
    Files.createDirectories(page.getParent)
    Files.write(page, render.getBytes(UTF_8))
    OptionConstants.write(root)
  }

  def render: String = {
    val sections =
      Seq(OptionScope.OfTable, OptionScope.OfWrite, OptionScope.OfRead, OptionScope.OfApplication).map { scope =>
        s"## ${scope.title}\n\n${intro(scope)}\n\n" + Options.all.filter(_.scope == scope).map(entry).mkString("\n")
      }
    (head +: sections :+ refused :+ ofOtherFormats :+ ignored :+ harmless).mkString("\n")
  }

  private val head =
    s"""# Options
       |
       |<!-- Made by io.merganser.table.settings.ConfigPage from the options; a test compares. Do not edit. -->
       |
       |Options keep their names from Hudi; Merganser's own begin with `spark.merganser.`. Names are case-insensitive.
       |Set them with `.option(…)` on a read or a write, in `TBLPROPERTIES`, or in Spark's configuration, where Hudi's
       |may also begin with `spark.hoodie.`. An unknown name is an error that suggests the option probably meant.
       |
       |There are constants for the names, and for the values of options with a fixed list: `io.merganser.Options` for
       |Java and Scala (`Options.RECORD_KEY`, `Options.Operation.UPSERT`), `merganser.options` for Python
       |(`options.RECORD_KEY`, `options.Operation.UPSERT`).
       |""".stripMargin

  private def intro(scope: OptionScope): String = scope match {
    case OptionScope.OfTable =>
      "Set when the table is created, and stored with it. A later write may repeat them; a different value is an error."
    case OptionScope.OfWrite =>
      "Precedence: the write's option, Spark's configuration, the table's properties, the default."
    case OptionScope.OfApplication =>
      "Set where the Spark application is started, in `spark-defaults.conf` or with `--conf`. A later `SET`, a table " +
        "or an option of a read or a write does not change it."
    case OptionScope.OfRead => "The read's option takes precedence over Spark's configuration."
  }

  private def entry(option: OptionEntry): String = {
    val default = option.default.fold("no default")(d => s"default `$d`")
    val others  = if (option.aliases.isEmpty) "" else option.aliases.map(a => s"`$a`").mkString(" Also: ", ", ", ".")
    s"- **`${option.key}`**: ${option.kind.describe}; $default; since ${option.since}.\n  ${option.doc}$others\n"
  }

  private def refused: String = {
    def row(r: ForeignOptions.Refused) = {
      val accepted = if (r.accepted.isEmpty) "none" else r.accepted.map(a => s"`$a`").mkString(", ")
      s"| `${r.key}` | $accepted | ${r.remedy} |"
    }
    val rows = (ForeignOptions.refused ++ ForeignOptions.refusedReading).map(row)
    s"""## Known and refused
       |
       |These would change rows or layout and are not supported. A value that asks for existing behaviour is accepted.
       |
       || option | accepted value | instead |
       ||---|---|---|
       |${rows.mkString("\n|")}
       |""".stripMargin
  }

  private def ofOtherFormats: String = {
    val rows = OtherFormats.words.map(w => s"| `${w.key}` | ${w.format} | ${w.remedy} |")
    s"""## Of other formats
       |
       |Refused, with the way to the same effect in Merganser.
       |
       || option | format | instead |
       ||---|---|---|
       |${rows.mkString("\n|")}
       |""".stripMargin
  }

  private def ignored: String = {
    def names(effect: IgnoredOptions.Effect) =
      effect.names.map(n => if (n.endsWith(".")) s"`$n*`" else s"`$n`").mkString(", ")
    def condition(effect: IgnoredOptions.Effect) = effect.switch match {
      case Some(s) if s.onByDefault => s"unless ${s.names.map(n => s"`$n=false`").mkString(" or ")}"
      case Some(s)                  => s"with ${s.names.map(n => s"`$n=true`").mkString(" or ")}"
      case None => if (effect.same.isEmpty) "" else s"unless ${effect.same.map(v => s"`$v`").mkString(", ")}"
    }
    def rows(effects: Seq[IgnoredOptions.Effect]) =
      effects.map(e => s"| ${names(e)} | ${condition(e)} | ${e.instead} |").mkString("\n|")
    s"""## Accepted and reported
       |
       |These have an effect in Hudi that a job may depend on, and none here. A write that sets one, by an option or by
       |Spark's configuration, lists it in its result (`ignored_options`) and in one warning in the log, unless another
       |list of this page names it.
       |
       || options | reported | instead |
       ||---|---|---|
       |${rows(IgnoredOptions.ofWrites)}
       |
       |For a read, only its own options are considered:
       |
       || options | reported | instead |
       ||---|---|---|
       |${rows(IgnoredOptions.ofReads)}
       |""".stripMargin
  }

  private def harmless: String =
    s"""## Accepted and without effect
       |
       |These tune how Hudi works and cannot change rows or layout, so existing jobs may keep them. All options of Hudi
       |${HudiOptions.release} that begin with
       |
       |${ForeignOptions.harmlessPrefixes.map(p => s"`$p*`").mkString(", ")}
       |
       |(unless named above; a name that Hudi does not have is an error), any that begin with
       |
       |${ForeignOptions.openPrefixes.map(p => s"`$p*`").mkString(", ")}
       |
       |(except misspelt names of Hudi's options), and
       |
       |${(ForeignOptions.harmless ++ ForeignOptions.ofOtherReleases).map(n => s"`$n`").mkString(", ")}.
       |""".stripMargin
}
