package io.merganser.table.timeline

import java.nio.file.Path

import io.merganser.table.HadoopDefaults
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

/** The archive of a table of version 6, to which other engines move old instants. */
object LogArchives {

  /** @param instants requested times of commits, the oldest first */
  def write(root: Path, instants: Seq[String], perFile: Int = 1000): Unit = {
    val storage = new Storage(new org.apache.hadoop.fs.Path(root.toUri), HadoopDefaults.shared)
    val log     = new HistoryLog(storage, TableConfig.load(storage))
    instants.grouped(perFile).foreach { some =>
      val states = some.map { requested =>
        val states: Seq[InstantState] = Seq(InstantState.Requested, InstantState.Inflight, InstantState.Completed)
        val content = CommitMetadata.encodeAvro(CommitMetadata(OperationType.Upsert, Map.empty, Map.empty),
          isReplace = false)
        Instant(requested, Action.Commit, InstantState.Completed) -> states.map(state =>
          StateFile(Action.Commit, state, if (state == InstantState.Completed) content else Array.emptyByteArray,
            Some(requested)))
      }
      log.add(states, batch = 500)
    }
  }
}
