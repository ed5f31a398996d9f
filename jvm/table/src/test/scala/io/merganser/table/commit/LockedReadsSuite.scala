package io.merganser.table.commit

import java.nio.file.Files

import io.merganser.table.{LargeTable, LargeTableFileSystem, TableSuite}
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Action

/** What a commit reads of the commits of other writers, and when. */
final class LockedReadsSuite extends TableSuite {
  import LargeTableFileSystem.counted

  override protected def afterEach(): Unit =
    try LargeTableFileSystem.clear()
    finally super.afterEach()

  test("commits of other writers are read once, in parallel and before the lock is taken") {
    val root = Files.createDirectories(folder.resolve("t"))
    val any  = Files.write(folder.resolve("any"), Array[Byte](1))
    LargeTableFileSystem.register(new LargeTable(root, IndexedSeq.empty, commits = 0, archived = 0, any, ""))
    val s       = Storage(s"large://$root", LargeTableFileSystem.configuration)
    val several = Transaction.Options(heartbeatMs = Some(60000L))
    table(storage = s)
    def begin() = Transaction.begin(s, TableConfig.load(s), Action.Commit, options = several)
    val ours    = begin()
    def metadata(by: Transaction, group: String) = upserted(writeBase(s, by, group)).copy(extra = Map.empty)
    val written                                  = metadata(ours, "ours")
    (1 to 8).foreach { i =>
      val other = begin()
      other.commit(metadata(other, s"other$i"), Set.empty)
    }
    val calls   = counted(2)(ours.commit(written, Set.empty))
    val commits = calls.calls.filter(c => c.kind == "open" && c.path.matches("\\.hoodie/timeline/.*\\.commit"))
    assert(commits.size == 8 && commits.map(_.path).distinct.size == 8)
    assert(commits.forall(!_.isLocked) && calls.mostAtOnce > 1)
    assert(calls.locked.nonEmpty && calls.locked.forall(_.path.startsWith(".hoodie")))
    assert(view(s).slices.size == 9)
  }
}
