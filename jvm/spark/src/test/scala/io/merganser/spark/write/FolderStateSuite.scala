package io.merganser.spark.write

import java.nio.file.Files

import io.merganser.spark.LocalSession
import io.merganser.merge.Notation
import io.merganser.table.{FolderState, TableSuite}
import org.apache.commons.io.FileUtils

/** Descriptions of a table's folder: equal after two runs of one action, and different where a file differs. */
final class FolderStateSuite extends TableSuite with LocalSession {

  override protected def master: String = "local[1]"

  for ((mergeOnRead, version) <- Seq((false, "9"), (true, "6"), (true, "9")))
    test(
      "equal runs of a write leave equal states, and other rows or damaged files other ones: merge on read " +
        s"$mergeOnRead, version $version") {
      val options = this.options(mergeOnRead, bucketed = true)
      val services = Map("hoodie.compact.inline" -> "true", "hoodie.compact.inline.max.delta.commits" -> "2",
        "hoodie.clean.commits.retained" -> "1")
      val prepared = folder.resolve("prepared")
      for (ts <- Seq(10, 20))
        upsert(faulty("prepared"), Notation.changes(s"k1@$ts=a k2@$ts=b"),
          options + ("hoodie.write.table.version" -> version))
      val states = new FolderState(prepared)
      def after(name: String, changes: String) = {
        FileUtils.copyDirectory(prepared.toFile, folder.resolve(name).toFile)
        upsert(faulty(name), Notation.changes(changes), options ++ services)
        states.of(folder.resolve(name))
      }
      val first = after("first", "k1@30=c k4@30=d")
      val again = after("again", "k1@30=c k4@30=d")
      assert(first.diff(again).isEmpty && again.diff(first).isEmpty)
      assert(after("other", "k1@30=c k4@30=e") != first)
      for (file <- FileUtils.listFiles(folder.resolve("again").toFile, null, true).toArray(Array.empty[java.io.File])) {
        val bytes = Files.readAllBytes(file.toPath)
        Files.write(file.toPath, bytes.take(bytes.length / 2))
        if (bytes.length > 1) assert(states.of(folder.resolve("again")) != first, file)
        Files.delete(file.toPath)
        assert(states.of(folder.resolve("again")) != first, file)
        Files.write(file.toPath, bytes)
      }
      assert(states.of(folder.resolve("again")) == first)
    }
}
