package io.merganser.table.options

import java.nio.charset.StandardCharsets.UTF_8

/** The options of the Hudi release whose tables we write: a job migrated from it may set any of them. */
object HudiOptions {

  val release: String = "1.2.0"

  /** All names, including legacy aliases. */
  val names: Seq[String] = {
    val source =
      scala.io.Source.fromInputStream(getClass.getResourceAsStream("/io/merganser/table/hudi-options.txt"), UTF_8.name)
    try source.getLines().filterNot(line => line.isEmpty || line.startsWith("#")).toList
    finally source.close()
  }

  private val lowerNames: Set[String] = names.map(_.toLowerCase(java.util.Locale.ROOT)).toSet

  private[table] def has(lowerKey: String): Boolean = lowerNames(lowerKey)
}
