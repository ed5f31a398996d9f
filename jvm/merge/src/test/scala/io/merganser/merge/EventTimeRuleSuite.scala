package io.merganser.merge

class EventTimeRuleSuite extends MergeSuite {

  override val rule: MergeRule = MergeRule.eventTime(Notation.layout)

  test("a newer version with a larger ordering value wins") {
    assertMerged(base = "k1@10=a", versions = "k1@11=b", expected = "k1@11=b")
  }

  test("on equal ordering values the newer version wins") {
    assertMerged(base = "k1@10=a", versions = "k1@10=b k1@10=c", expected = "k1@10=c")
  }

  test("a late version loses against the stored row, which stays as it is") {
    assertOutcomes(base = "k1@10=a", versions = "k1@9=b", expected = "Kept k1@10=a")
  }

  test("the largest ordering value wins at any position among the versions") {
    assertMerged(base = "", versions = "k1@5=a k1@9=b k1@7=c", expected = "k1@9=b")
    assertMerged(base = "k1@8=s", versions = "k1@9=b k1@7=c", expected = "k1@9=b")
  }

  test("a version is merged with the row of its own key only") {
    assertOutcomes(base = "k1@1=a k3@1=c", versions = "k2@1=b k3@2=d", "Unchanged k1@1=a", "Inserted k2@1=b",
      "Updated k3@2=d")
  }

  test("null is the smallest ordering value: it loses against every other, the smallest number too") {
    assertMerged(base = "k1@-9223372036854775808=a", versions = "k1@null=b", expected = "k1@-9223372036854775808=a")
    assertMerged(base = "k1@null=a", versions = "k1@-9223372036854775808=b", expected = "k1@-9223372036854775808=b")
  }

  test("null against null is a tie: the newer version wins") {
    assertMerged(base = "k1@null=a", versions = "k1@null=b k1@null=c", expected = "k1@null=c")
  }

  test("zero is an ordering value like any other, on deletes too") {
    assertMerged(base = "k1@10=a", versions = "k1@0-", expected = "k1@10=a")
    assertMerged(base = "k1@-1=a", versions = "k1@0-", expected = "")
    assertMerged(base = "k1@-1=a", versions = "k1@0- k1@-1=b", expected = "")
  }

  test("a delete with a larger or an equal ordering value deletes") {
    assertOutcomes(base = "k1@10=a", versions = "k1@11-", "Deleted k1")
    assertOutcomes(base = "k1@10=a", versions = "k1@10-", "Deleted k1")
  }

  test("a late delete is ignored") {
    assertOutcomes(base = "k1@10=a", versions = "k1@9-", "Kept k1@10=a")
    assertMerged(base = "", versions = "k1@10=a k1@9-", expected = "k1@10=a")
  }

  test("a delete with a null ordering value is the smallest of all: it deletes a row whose own is null") {
    assertMerged(base = "k1@10=a", versions = "k1@null-", expected = "k1@10=a")
    assertMerged(base = "k1@null=a", versions = "k1@null-", expected = "")
  }

  test("a delete keeps its ordering value: a later record with a smaller one stays deleted") {
    assertMerged(base = "k1@10=a", versions = "k1@12- k1@11=b", expected = "")
    assertMerged(base = "", versions = "k1@12- k1@11=b", expected = "")
  }

  test("a record with the ordering value of an older delete brings the key back") {
    assertMerged(base = "k1@10=a", versions = "k1@12- k1@12=b", expected = "k1@12=b")
  }

  test("a delete that loses against the stored row does not affect later versions") {
    assertMerged(base = "k1@20=a", versions = "k1@12- k1@20=b", expected = "k1@20=b")
    assertMerged(base = "k1@20=a", versions = "k1@12- k1@15=b", expected = "k1@20=a")
  }

  test("a delete of a key that is not stored gives no row") {
    assertOutcomes(base = "", versions = "k1@10-", "Absent k1")
    assertOutcomes(base = "", versions = "k1-", "Absent k1")
  }

  test("a delete without an ordering value wins over everything older") {
    assertOutcomes(base = "k1@10=a", versions = "k1@99=b k1-", "Deleted k1")
    assertMerged(base = "k1@10=a", versions = "k1@99- k1-", expected = "")
  }

  test(
    "a delete without an ordering value loses to everything newer, a late record too, and the stored row stays away") {
    assertMerged(base = "k1@10=a", versions = "k1- k1@5=b", expected = "k1@5=b")
    assertMerged(base = "k1@10=a", versions = "k1- k1@null=b", expected = "k1@null=b")
  }

  test("after a delete without an ordering value the versions compete among themselves alone") {
    assertMerged(base = "k1@10=a", versions = "k1@20=x k1- k1@5=b k1@4=c", expected = "k1@5=b")
    assertMerged(base = "k1@10=a", versions = "k1- k1@5=b k1@6- k1@3=c", expected = "")
    assertMerged(base = "k1@10=a", versions = "k1- k1@5- k1@3=c", expected = "")
    assertMerged(base = "k1@10=a", versions = "k1- k1@5=b k1- k1@2=c", expected = "k1@2=c")
  }

  test("a delete without an ordering value, then a late record: either grouping drops the stored row") {
    val (stored, delete, late) = (Notation.record("k1@10=a"), Notation.record("k1-"), Notation.record("k1@5=b"))
    val fromLeft               = fold.merge(fold.merge(stored, delete), late)
    val fromRight              = fold.merge(stored, fold.merge(delete, late))
    assert(Notation.read(fromLeft).toString == "k1@5=b")
    assert(Notation.read(fromRight).toString == "k1@5=b")
    assert(fromLeft.endsHistory && fromRight.endsHistory)
  }

  test("a version that ends history still ends it after merges with larger and smaller ones") {
    val fresh = fold.merge(Notation.record("k1-"), Notation.record("k1@5=b"))
    assert(fold.merge(fresh, Notation.record("k1@6=c")).endsHistory)
    assert(fold.merge(fresh, Notation.record("k1@4=c")).endsHistory)
    assert(fold.merge(fresh, Notation.record("k1@6-")).endsHistory)
  }

  test("without ordering fields event time acts as commit time") {
    val unordered = MergeRule.eventTime(RowLayout(Notation.schema, "k", Nil, None))
    assert(unordered.laws == MergeRule.commitTime(Notation.layout).laws)
    assert(Notation.read(unordered.merge(Notation.record("k1@10=a"), Notation.record("k1@9=b"))).toString == "k1@9=b")
  }
}
