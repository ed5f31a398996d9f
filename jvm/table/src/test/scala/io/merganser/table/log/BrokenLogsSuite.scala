package io.merganser.table.log

import java.nio.file.Files

// Guarantee (Reads): From version 8 on, a file that is shorter than its commit records or has a corrupt block is an
//   error with file, block, offset and commit. Also:
//   test_reads_and_compactions_of_a_truncated_file_fail_with_its_name_offset_and_commit
class BrokenLogsSuite extends LogFixture {

  /** Of version 6, where a file that several writes append to may hold what a dead one left. */
  private def older = scanner(version = 6)

  test("from version 8 on a truncated, overwritten or missing block is an error with its place") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.deleteBlock(deletes("k2"), ordering)
    log.close()
    val good   = bytesOf(log.name)
    val second = new String(good, "ISO-8859-1").indexOf("#HUDI#", 6)
    def replaced(bytes: Array[Byte]): Unit = {
      Files.delete(folder.resolve(s"p/${log.name}"))
      append(log.name, bytes)
    }
    def damaged(bytes: Array[Byte], offset: Int, block: String, committed: Boolean = true): Unit = {
      replaced(bytes)
      val error = unreadable(files = if (committed) this.committed(good.length.toLong) else logs)
      assert(error.parameters("offset") == offset.toString && error.parameters("block") == block, s"${bytes.length}")
      assert(error.parameters("file").endsWith(s"p/${log.name}") && error.getMessage.contains("commit 001"))
      ()
    }
    damaged(good.dropRight(10), second, "delete")
    damaged(good.take(second), second, "next")
    damaged(good.take(second + 3), second, "next")
    damaged(good.take(second - 1), 0, "Avro data")
    damaged(Array.emptyByteArray, 0, "next")
    damaged(good.dropRight(10), second, "delete", committed = false)
    damaged(good.dropRight(10) ++ good, second, "delete", committed = false)
    val wrong = good.clone()
    wrong(second - 1) = (wrong(second - 1) + 1).toByte
    damaged(wrong, 0, "Avro data")
    replaced(good ++ good.take(30))
    assert(scan(files = committed(good.length.toLong))._1 == named("001", 1) :+ Deleted("k2", "p", null))
    unreadable()
  }

  test("in version 6 a truncated block between two good ones is skipped") {
    val bytes = Seq("001", "002", "003").map { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
      val bytes = bytesOf(log.name)
      Files.delete(folder.resolve(s"p/${log.name}"))
      bytes
    }
    Seq(1, 7, 13, 20, 100, bytes(1).length - 1).foreach { length =>
      if (length >= 6) {
        val name = logName("001", length)
        append(name, bytes(0), bytes(1).take(length), bytes(2))
        val (found, scanned) = scan(older)
        assert(found == named("001", 1) ++ named("003", 1) && scanned.corruptBlocks == 1, s"$length bytes kept")
        Files.delete(folder.resolve(s"p/$name"))
      }
    }
    val name = logName("001", 1)
    append(name, bytes(0), bytes(1).dropRight(3))
    assert(scan(older)._1 == named("001", 1))
    append(name, bytes(2))
    assert(scan(older)._1 == named("001", 1) ++ named("003", 1))
  }

  test("in version 6 a block with a wrong pointer or follower is skipped") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    val good = bytesOf(log.name)
    Files.delete(folder.resolve(s"p/${log.name}"))
    val wrong = good.clone()
    wrong(wrong.length - 1) = (wrong.last + 1).toByte
    append(log.name, wrong, good)
    assert(scan(older)._1 == named("001", 1))
    Files.delete(folder.resolve(s"p/${log.name}"))
    val garbage = Array.fill[Byte](200000)('#')
    append(log.name, good, garbage, good)
    val (found, scanned) = scan(older)
    assert(found == named("001", 1) && scanned.corruptBlocks == 1)
  }

  test("a few bytes behind the last block are ignored") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    append(log.name, "#HUD".getBytes)
    assert(scan()._1 == named("001", 1))
  }

  test("an empty log file has no blocks") {
    append(logName("001"))
    Files.createDirectories(folder.resolve("p"))
    Files.createFile(folder.resolve(s"p/${logName("001")}"))
    assert(scan()._1.isEmpty)
  }

  test("unknown block headers are ignored") {
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    append(logName("001"), block(1, Seq(9 -> "x", 0 -> "001", 77 -> "y" * 100000, 5 -> "z"), content))
    assert(scan()._1 == Seq(Deleted("2", "p", null)))
  }

  test("unsupported blocks are refused by file, place and type, unless they were rolled back") {
    val name = logName("001")
    Seq(4 -> "HFile", 9 -> "type 9").foreach { case (blockType, text) =>
      Files.deleteIfExists(folder.resolve(s"p/$name"))
      append(name, block(blockType, Seq(0 -> "001"), Array.emptyByteArray))
      val error = unreadable()
      assert(error.getMessage.contains(text) && error.parameters("file").endsWith(s"p/$name") && error.parameters(
        "offset") == "0")
    }
    append(name, block(0, Seq(0 -> "002", 1 -> "001", 3 -> "0"), Array.emptyByteArray))
    assert(scan()._1.isEmpty)
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(1, Seq(0 -> "001"), hex("00 00 00 02 00 00 00 00")))
    assert(unreadable().getMessage.contains("version 2"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(1, Seq(0 -> "001"), hex("00 00 00 03 | 00 00 00 03 | 02 02 02")))
    unreadable()
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(3, Seq(0 -> "001", 2 -> "no schema"), hex("00 00 00 03 00 00 00 00")))
    assert(unreadable().getMessage.contains("schema"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, block(3, Seq(0 -> "001"), hex("00 00 00 03 00 00 00 00"), version = 2))
    assert(unreadable().getMessage.contains("version 2"))
    Files.delete(folder.resolve(s"p/$name"))
    append(name, "this is no log file at all".getBytes)
    assert(unreadable().parameters("offset") == "0")
  }
}
