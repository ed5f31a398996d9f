package io.merganser.spark.sql.procedures

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

/** The calls with their parameters and columns, for programs without a JVM; run, it writes them. */
object CallList {

  val place = "python/src/merganser/calls.json"

  private val mapper = new ObjectMapper

  def main(arguments: Array[String]): Unit = {
    Files.write(file(arguments.headOption.getOrElse(".")), render.getBytes(UTF_8))
    ()
  }

  def file(root: String): Path = Paths.get(root, place)

  /** An object of calls by name, with a line for each parameter and each column. */
  def render: String = Procedures.all.map { call =>
    s"""  ${quoted(call.name)}: {
       |    "parameters": ${lines(call.parameters.map(parameter))},
       |    "columns": ${lines(call.result.map(c => named(c.name, c.dataType.sql)))}${call.preview.fold("")(dryRun)}
       |  }""".stripMargin
  }.mkString("{\n", ",\n", "\n}\n")

  private def dryRun(preview: Preview): String = {
    val node = mapper.createObjectNode().put("service", preview.service)
    preview.parameters.foldLeft(node.putArray("parameters"))(_.add(_))
    s""",\n    "dry_run": $node"""
  }

  private def parameter(p: Parameter): ObjectNode =
    named(p.name, Arguments.describe(p.dataType)).put("required", p.isRequired).put("default", p.default.orNull)
      .put("doc", p.meaning)

  private def named(name: String, dataType: String): ObjectNode =
    mapper.createObjectNode().put("name", name).put("type", dataType)

  private def lines(objects: Seq[ObjectNode]): String =
    if (objects.isEmpty) "[]" else objects.mkString("[\n      ", ",\n      ", "\n    ]")

  private def quoted(text: String): String = mapper.writeValueAsString(text)
}
