package io.merganser.merge

class CommitTimeRuleSuite extends MergeSuite {

  override val rule: MergeRule = MergeRule.commitTime(Notation.layout)

  test("the newer version wins, whatever its ordering value") {
    assertMerged(base = "k1@10=a", versions = "k1@11=b", expected = "k1@11=b")
    assertMerged(base = "k1@10=a", versions = "k1@11=b k1@9=c", expected = "k1@9=c")
    assertMerged(base = "k1@10=a", versions = "k1@null=b", expected = "k1@null=b")
  }

  test("any newer delete deletes, and a later insert brings the key back") {
    assertOutcomes(base = "k1@10=a", versions = "k1@9-", "Deleted k1")
    assertOutcomes(base = "k1@10=a", versions = "k1-", "Deleted k1")
    assertMerged(base = "k1@10=a", versions = "k1@99- k1@1=b", expected = "k1@1=b")
    assertMerged(base = "k1@10=a", versions = "k1- k1@1=b", expected = "k1@1=b")
  }

  test("a row after a delete without an ordering value ends history") {
    val merged = fold.merge(Notation.record("k1-"), Notation.record("k1@1=b"))
    assert(merged.endsHistory)
    assert(fold.merge(merged, Notation.record("k1@1=c")).endsHistory)
  }
}
