package io.merganser.spark.size

import java.lang.management.ManagementFactory
import java.nio.file.Files

import io.merganser.Extensive
import io.merganser.table.TableSuite

import scala.collection.JavaConverters._

// Guarantee (Size): 300,000 versions of one key (5 million with `--full`) are merged, under rules that combine
//   versions.
/** File slices that are larger than the memory of the process that reads and compacts them. */
@Extensive
final class BigSlicesSuite extends TableSuite {

  private val isFull = sys.env.get("MERGANSER_FULL").contains("1")

  /** Runs in a process with so much memory. */
  private def run(heap: String, arguments: String*): Unit = {
    val opens   = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.filter(_.startsWith("--add-opens"))
    val program = java.nio.file.Paths.get(System.getProperty("java.home"), "bin", "java").toString
    val output  = folder.resolve("output")
    val command = Seq(program, s"-Xmx$heap", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError") ++ opens ++
      Seq("-cp", System.getProperty("java.class.path"), "io.merganser.spark.size.BigSlices", folder.toString) ++
      arguments
    val started = new ProcessBuilder(command: _*).redirectErrorStream(true).redirectOutput(output.toFile).start()
    val code    = started.waitFor()
    val lines   = Files.readAllLines(output).asScala
    lines.filter(_.matches(".*: [0-9.]+ s|logs of .*|a base file of .*")).foreach(info(_))
    assert(code == 0, lines.takeRight(40).mkString("\n"))
  }

  test("slices above the task's memory, and keys with many versions, are read and compacted") {
    // Full: a slice of 10 GB of logs in a heap of 1 GB.
    if (isFull) run("1g", "10000", "1", "5000000", "5000") else run("512m", "300", "2", "300000", "100")
  }
}
