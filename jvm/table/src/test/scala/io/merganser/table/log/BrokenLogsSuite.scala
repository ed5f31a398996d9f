package io.merganser.table.log

import java.nio.file.Files

class BrokenLogsSuite extends LogFixture {

  test("a block cut short between two good ones is stepped over") {
    val bytes = Seq("001", "002", "003").map { instant =>
      val log = writer(instant)
      log.dataBlock(rows(instant, Seq(1)))
      log.close()
      val bytes = bytesOf(log.name)
      Files.delete(folder.resolve(s"p/${log.name}"))
      bytes
    }
    Seq(1, 7, 13, 20, 100, bytes(1).length - 1).foreach { kept =>
      if (kept >= 6) {
        val name = logName("001", kept)
        append(name, bytes(0), bytes(1).take(kept), bytes(2))
        val (found, scanned) = scan()
        assert(found == named("001", 1) ++ named("003", 1) && scanned.corruptBlocks == 1, s"$kept bytes kept")
        Files.delete(folder.resolve(s"p/$name"))
      }
    }
    val name = logName("001", 1)
    append(name, bytes(0), bytes(1).dropRight(3))
    assert(scan()._1 == named("001", 1))
    append(name, bytes(2))
    assert(scan()._1 == named("001", 1) ++ named("003", 1))
  }

  test("a block whose pointer or follower is wrong is stepped over, wherever the next begins") {
    val log = writer("001")
    log.dataBlock(rows("001", Seq(1)))
    log.close()
    val good = bytesOf(log.name)
    Files.delete(folder.resolve(s"p/${log.name}"))
    val wrong = good.clone()
    wrong(wrong.length - 1) = (wrong.last + 1).toByte
    append(log.name, wrong, good)
    assert(scan()._1 == named("001", 1))
    Files.delete(folder.resolve(s"p/${log.name}"))
    val garbage = Array.fill[Byte](200000)('#')
    append(log.name, good, garbage, good)
    val (found, scanned) = scan()
    assert(found == named("001", 1) && scanned.corruptBlocks == 1)
  }

  test("a few bytes behind the last block are no block") {
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

  test("headers we do not know are passed over") {
    val content = hex("00 00 00 03 | 00 00 00 0A | 02 02 02 32 02 02 70 04 00 00")
    append(logName("001"), block(1, Seq(9 -> "x", 0 -> "001", 77 -> "y" * 100000, 5 -> "z"), content))
    assert(scan()._1 == Seq(Deleted("2", "p", null)))
  }

  test("blocks we cannot read are refused by file, place and type, unless they were rolled back") {
    val name = logName("001")
    Seq(4 -> "HFile", 9 -> "type 9").foreach { case (blockType, text) =>
      Files.deleteIfExists(folder.resolve(s"p/$name"))
      append(name, block(blockType, Seq(0 -> "001"), Array.emptyByteArray))
      val error = unreadable()
      assert(error.getMessage.contains(text) && error.parameters("file").endsWith(s"p/$name") && error.parameters("offset") == "0")
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
