package io.merganser.spark.size

import java.nio.file.{Files, Path}

import io.merganser.table.HadoopDefaults
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

/** The history of a timeline, to which other engines move old instants. */
object Archives {

  private val schema = MessageTypeParser.parseMessageType(
    "message archived { optional binary instantTime (STRING); optional binary completionTime (STRING); " +
      "optional binary action (STRING); optional binary metadata; optional binary plan; optional int32 version; }")

  /** @param metadata of each instant by its number, as the timeline stores it; none by default */
  def write(
      root: Path,
      instants: Seq[(String, String)],
      metadata: Int => Option[Array[Byte]] = _ => None,
      perFile: Int = 1000
  ): Unit = {
    val folder = root.resolve(".hoodie/timeline/history")
    Files.createDirectories(folder)
    val files = instants.zipWithIndex.grouped(perFile).map { some =>
      val name   = s"${some.head._1._1}_${some.last._1._1}_0.parquet"
      val file   = new org.apache.hadoop.fs.Path(folder.resolve(name).toUri)
      val writer = ExampleParquetWriter.builder(file).withType(schema).withConf(HadoopDefaults.shared).build()
      try some.foreach { case ((requested, completed), number) =>
          val row = new SimpleGroupFactory(schema).newGroup().append("instantTime", requested).append(
            "completionTime", completed).append("action", "commit").append("version", 1)
          metadata(number).foreach(bytes =>
            row.add("metadata", org.apache.parquet.io.api.Binary.fromConstantByteArray(bytes)))
          writer.write(row)
        }
      finally writer.close()
      name
    }.toList
    Files.write(folder.resolve("manifest_1"),
      files.map(f => s"""{"fileName":"$f","fileLen":${Files.size(folder.resolve(f))}}""").mkString("""{"files":[""",
        ",", "]}").getBytes)
    Files.write(folder.resolve("_version_"), "1".getBytes)
    ()
  }
}
