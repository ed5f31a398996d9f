package io.merganser.table.settings

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.Locale

import io.merganser.table.options.{OptionEntry, OptionKind, OptionScope, Options}

/** The names and values of options as constants, for jobs in Java and Scala, and in Python: generated. */
object OptionConstants {

  val javaPlace: String   = "jvm/table/src/main/java/io/merganser/Options.java"
  val pythonPlace: String = "python/src/merganser/options.py"

  /** Writes both files, into the project's folder. */
  def write(root: Path): Unit = for ((place, text) <- Seq(javaPlace -> java, pythonPlace -> python)) {
    Files.createDirectories(root.resolve(place).getParent)
    Files.write(root.resolve(place), text.getBytes(UTF_8))
  }

  /** Each option's constant: the name it has in [[Options]], else one from its key. */
  val named: Seq[(String, OptionEntry)] = {
    val members = Options.getClass.getMethods.toSeq
      .filter(m =>
        m.getParameterCount == 0 && m.getReturnType == classOf[OptionEntry] && !m.getName.contains('$'))
      .map(m => m.invoke(Options).asInstanceOf[OptionEntry].key -> m.getName).toMap
    Options.all.map { entry =>
      val name = members.get(entry.key).map(member => upper(member.stripSuffix("Option")))
      name.getOrElse(constant(entry.key.stripPrefix("hoodie."))) -> entry
    }
  }

  /** The values of options that have a list of them, by the option's constant; equal lists once. */
  val values: Seq[(String, Seq[String])] = named.collect {
    case (name, OptionEntry(_, one: OptionKind.OneOf, _, _, _, _, _)) => name -> one.values
  }.foldLeft(Vector.empty[(String, Seq[String])]) { (found, next) =>
    if (found.exists(_._2 == next._2)) found else found :+ next
  }

  private def upper(camel: String): String =
    camel.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toUpperCase(Locale.ROOT)

  private def constant(text: String): String = {
    val name = upper(text).replaceAll("[^A-Z0-9]+", "_")
    if (name.head.isDigit) s"V$name" else name
  }

  private def camel(constant: String): String =
    constant.split('_').map(part => part.take(1) + part.drop(1).toLowerCase(Locale.ROOT)).mkString

  private def ofScope(scope: OptionScope): Seq[(String, OptionEntry)] = named.filter(_._2.scope == scope)

  private val scopes =
    Seq(OptionScope.OfTable, OptionScope.OfWrite, OptionScope.OfRead, OptionScope.OfApplication)

  private def declaration(name: String, key: String): String = {
    val start = s"  public static final String $name ="
    val space = if (start.length + key.length + 4 > 120) "\n      " else " "
    s"""$start$space"$key";\n"""
  }

  def java: String = {
    val keys = scopes.map { scope =>
      ofScope(scope).map { case (name, entry) => declaration(name, entry.key) }
        .mkString(s"  // --- ${scope.title.toLowerCase(Locale.ROOT)}\n\n", "", "")
    }
    val classes = values.map { case (name, list) =>
      val constants = list.map(value => s"""    public static final String ${constant(value)} = "$value";\n""")
      s"""  /** Values of {@link #$name}. */
         |  public static final class ${camel(name)} {
         |${constants.mkString}
         |    private ${camel(name)}() {}
         |  }
         |""".stripMargin
    }
    s"""package io.merganser;
       |
       |/**
       | * The names of options, for jobs in Java and Scala, and the values of those that have a list of values.
       | * The page docs/config.md describes them. Generated from the options; a test compares.
       | */
       |public final class Options {
       |${(keys ++ classes).mkString("\n")}
       |  private Options() {}
       |}
       |""".stripMargin
  }

  def python: String = {
    val keys = scopes.map { scope =>
      s"# --- ${scope.title.toLowerCase(Locale.ROOT)}\n\n" +
        ofScope(scope).map { case (name, entry) => s"""$name = "${entry.key}"\n""" }.mkString
    }
    val classes = values.map { case (name, list) =>
      val constants = list.map(value => s"""    ${constant(value)} = "$value"\n""")
      s"""class ${camel(name)}:
         |    \"\"\"Values of ``$name``.\"\"\"
         |
         |${constants.mkString}""".stripMargin
    }
    s"""\"\"\"The names of options, and the values of those that have a list of values.
       |
       |``docs/config.md`` describes them. Generated from the options; a test compares.
       |\"\"\"
       |
       |from __future__ import annotations
       |
       |${keys.mkString("\n")}
       |
       |${classes.mkString("\n\n")}""".stripMargin
  }
}
