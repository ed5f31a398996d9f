package io.merganser.table.storage

import io.merganser.table.TableSuite

/** What is shown of a long operation. */
final class ProgressSuite extends TableSuite {

  private def shown: Seq[String] = Progress.current.map(_.toString)

  test("a step counts its parts while it runs inside other steps, and disappears at its end") {
    val counts = Progress.of("clean") { _ =>
      Parallel.map(1 to 20, "delete files")(_ => shown)
    }
    assert(counts.forall(_.headOption.contains("clean")))
    val numbers = counts.map(_.last.stripPrefix("delete files: ").stripSuffix(" of 20").toInt)
    assert(numbers.contains(0) && numbers.forall(_ < 20) && shown.isEmpty)
    intercept[IllegalStateException](Progress.of("clean")(_ => throw new IllegalStateException("x")))
    assert(shown.isEmpty)
  }

  test("a caller sees the steps of its own calls and their threads, and none of another caller") {
    val seen = new java.util.concurrent.ConcurrentLinkedQueue[(String, Seq[String])]
    val both = new java.util.concurrent.CyclicBarrier(2)
    val threads = Seq("clean", "restore").map { name =>
      new Thread(() => {
        val caller = Progress.newCaller()
        Progress.of(name) { _ =>
          both.await()
          val parts = Parallel.map(1 to 20, s"files of $name")(_ => Progress.current(caller).map(_.what))
          parts.foreach(shown => seen.add(name -> shown))
          both.await()
        }
      })
    }
    threads.foreach(_.start())
    threads.foreach(_.join(60000))
    assert(seen.size == 40)
    seen.forEach { case (name, shown) => assert(shown == Seq(name, s"files of $name")) }
  }

  test("background steps and steps of few parts are not shown") {
    assert(Progress.hide(Parallel.map(1 to 20, "delete files")(_ => shown)).forall(_.isEmpty))
    assert(Parallel.map(1 to 3, "delete files")(_ => shown).forall(_.isEmpty))
  }
}
