package io.merganser.merge

class PartialRuleSuite extends MergeSuite {

  override val rule: MergeRule = MergeRule.eventTime(Notation.layout)

  test("the columns a partial version provides overlay the stored row, nulls too; the others stay") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11=c,_", "Updated k1@11=c,b")
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11=null,_", "Updated k1@11=null,b")
  }

  test("a late partial version loses as a whole") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@9=c,_", "Kept k1@10=a,b")
    assertMerged(base = "k1@10=a,b", versions = "k1@12=c,_ k1@11=_,d", expected = "k1@12=c,b")
  }

  test("partial versions follow each other") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11=c,_ k1@12=_,d", expected = "k1@12=c,d")
  }

  test("a partial version without an ordering value takes the stored one: that is a tie, and it wins") {
    assertMerged(base = "k1@10=a,b", versions = "k1@_=c,_", expected = "k1@10=c,b")
    assertMerged(base = "k1@10=a,b", versions = "k1@_=c,_ k1@9=d,d k1@10=_,e", expected = "k1@10=c,e")
  }

  test("a partial version of a key that is not stored is dropped") {
    assertOutcomes(base = "", versions = "k1@10=a,_", "Absent k1")
    assertOutcomes(base = "", versions = "k1@10=a,_ k1@11=_,b", "Absent k1")
    assertMerged(base = "", versions = "k1@10=a,_ k1@5=b,c", expected = "k1@5=b,c")
    assertMerged(base = "", versions = "k1@10=a,_ k1@5- k1@6=b,c", expected = "k1@6=b,c")
  }

  test("an inserting partial version becomes a row with nulls if its key is not stored") {
    assertOutcomes(base = "", versions = "k1@10+=a,_", "Inserted k1@10=a")
    assertOutcomes(base = "", versions = "k1@10+=a,_ k1@11=_,b", "Inserted k1@11=a,b")
    assertOutcomes(base = "", versions = "k1@9=a,_ k1@10+=_,b k1@8+=c,_", "Inserted k1@10=null,b")
    assertOutcomes(base = "", versions = "k1@_+=a,_ k1@_+=_,b", "Inserted k1@null=a,b")
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11+=c,_", "Updated k1@11=c,b")
  }

  test("an inserting partial version is compared with a delete like a whole row") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11- k1@12+=c,_", expected = "k1@12=c")
    assertMerged(base = "k1@10=a,b", versions = "k1@13- k1@12+=c,_", expected = "")
    assertMerged(base = "k1@10=a,b", versions = "k1- k1@2+=c,_ k1@3=_,d", expected = "k1@3=c,d")
    assertMerged(base = "k1@20=a,b", versions = "k1@11- k1@21+=c,_", expected = "k1@21=c,b")
  }

  test("a partial version after a delete restores no row, and the delete keeps its ordering value") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11- k1@12=c,_", "Deleted k1")
    assertMerged(base = "k1@10=a,b", versions = "k1@11- k1@13=c,_ k1@12=d,e", expected = "k1@12=d,e")
    assertMerged(base = "k1@10=a,b", versions = "k1@11- k1@13=c,_ k1@10=d,e", expected = "")
  }

  test("a partial version after a delete without an ordering value restores no row") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1- k1@12=c,_", "Deleted k1")
    assertMerged(base = "k1@10=a,b", versions = "k1- k1@12=c,_ k1@2=d,e", expected = "k1@2=d,e")
    assertMerged(base = "k1@10=a,b", versions = "k1- k1@2=d,e k1@3=f,_", expected = "k1@3=f,e")
  }

  test("a partial version after a delete that lost overlays the row that stays") {
    assertMerged(base = "k1@20=a,b", versions = "k1@11- k1@21=c,_", expected = "k1@21=c,b")
    assertMerged(base = "k1@20=a,b", versions = "k1@11- k1@12=c,_", expected = "k1@20=a,b")
  }

  test("a late full version does not fill the open columns of a newer partial one") {
    assertMerged(base = "k1@10=a,b", versions = "k1@20=c,_ k1@15=x,y", expected = "k1@20=c,b")
  }

  test("partial versions are not associative, so they are buffered separately until the stored row is known") {
    val (stored, loses, wins) =
      (Notation.record("k1@10=a,b"), Notation.record("k1@8=c,_"), Notation.record("k1@11=_,d"))
    assert(Notation.read(fold.merge(fold.merge(stored, loses), wins)).toString == "k1@11=a,d")
    assert(Notation.read(fold.merge(stored, fold.merge(loses, wins))).toString == "k1@11=c,d",
      "columns of a version that loses")
  }

  test("under commit time a partial version overlays whatever is stored") {
    val commitTime = MergePaths.fold(MergeRule.commitTime(Notation.layout))
    def merged(words: String) =
      Notation.read(Notation.changes(words).map(Notation.record).reduceLeft(commitTime.merge(_, _))).toString
    assert(merged("k1@10=a,b k1@9=c,_") == "k1@9=c,b")
    assert(merged("k1@10=a,b k1@_=c,_") == "k1@10=c,b")
    assert(merged("k1@10=a,b k1@9- k1@11=c,_") == "k1@9-")
  }

  test("a merge with a partial version still ends history") {
    val fresh = fold.merge(Notation.record("k1-"), Notation.record("k1@5=a,b"))
    assert(fold.merge(fresh, Notation.record("k1@6=c,_")).endsHistory)
  }
}
