package io.merganser.table.storage

import io.merganser.table.TableSuite

/** What is shown of a long operation. */
final class ProgressSuite extends TableSuite {

  private def shown: Seq[String] = Progress.current.map(_.toString)

  test("the parts of a step are counted while it runs, inside other steps, and it is gone when it ends") {
    val counts = Progress.of("clean") { _ =>
      Parallel.map(1 to 20, "delete files")(_ => shown)
    }
    assert(counts.forall(_.headOption.contains("clean")))
    val numbers = counts.map(_.last.stripPrefix("delete files: ").stripSuffix(" of 20").toInt)
    assert(numbers.contains(0) && numbers.forall(_ < 20) && shown.isEmpty)
    intercept[IllegalStateException](Progress.of("clean")(_ => throw new IllegalStateException("x")))
    assert(shown.isEmpty)
  }

  test("steps in the background are not shown, and a few parts are no step") {
    assert(Progress.hide(Parallel.map(1 to 20, "delete files")(_ => shown)).forall(_.isEmpty))
    assert(Parallel.map(1 to 3, "delete files")(_ => shown).forall(_.isEmpty))
  }
}
