package io.merganser.table.slice

import io.merganser.merge.{MerganserException, Notation}
import io.merganser.table.commit.Creation
import io.merganser.table.{DirectTable, TableSuite}
import org.apache.hadoop.fs.FileUtil

/** Base files that a clean removes after a reader has opened them, and before it has read their rows. */
final class CleanedWhileReadSuite extends TableSuite {

  private val reads: Seq[(String, (SliceReader, FileSlice) => Iterator[Any])] = Seq(
    "rows" -> (_.rows(_)),
    "rows in key order" -> (_.sortedRows(_, null)),
    "rows in batches" -> ((reader, slice) => new SliceBatchReader(reader.input).batches(SlicePart(slice))),
    "rows of the newest" -> ((reader, slice) =>
      new SliceBatchReader(reader.input).recentBatches(SlicePart(slice), slice.base.get.instant)),
    "rows of a base file" -> (_.baseRows(_))
  )

  // Merged rows are sorted before the first one is returned.
  for {
    (name, open) <- reads
    logs         <- if (name == "rows in key order") Seq(false) else Seq(false, true)
  } test(s"$name${if (logs) ", with logs" else ""}: the error names the missing file") {
    Creation.create(storage, DirectTable.properties(mergeOnRead = logs))
    val table = new DirectTable(storage, bucketed = true)
    table.upsert(Notation.changes("k1@1=a"))
    if (logs) table.upsert(Notation.changes("k1@2=b"))
    table.first { (reader, slice) =>
      val rows = open(reader, slice)
      FileUtil.fullyDelete(folder.resolve("t").resolve(slice.partitionPath).toFile)
      val error = intercept[MerganserException](rows.hasNext)
      assert(error.condition == "SLICE_FILE_MISSING" && error.parameters("file") == slice.base.get.path)
    }
  }
}
