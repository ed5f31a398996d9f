package io.merganser.merge

/** Null is "not provided": the other version's value stays. */
class IgnoreDefaultsSuite extends MergeSuite {

  override val rule: MergeRule =
    new PartialRule(FillMissingRule.byEventTime(Notation.layout, MissingValues.Nulls, Nil), Notation.layout)

  private def merged(older: String, newer: String): String =
    Notation.read(fold.merge(Notation.record(older), Notation.record(newer))).toString

  private def combined(older: String, newer: String): Version =
    fold.combine(Notation.record(older), Notation.record(newer))

  test("nulls of a newer version take the stored values") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11=c", "Updated k1@11=c,b")
    assertOutcomes(base = "k1@10=a,b", versions = "k1@10=null,d", "Updated k1@10=a,d")
  }

  test("a late version fills the nulls of the row that stays, whose ordering value stays too") {
    assertOutcomes(base = "k1@10=a", versions = "k1@9=c,d", "Updated k1@10=a,d")
  }

  test("a late version that has nothing to fill leaves the stored row as it is") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@9=c,d", "Kept k1@10=a,b")
    assertOutcomes(base = "k1@10=a", versions = "k1@9=c", "Kept k1@10=a")
  }

  test("a null ordering value is never filled: it is the smallest, so the other version wins") {
    assertMerged(base = "k1@null=a", versions = "k1@5=null,b", expected = "k1@5=a,b")
    assertMerged(base = "k1@null=a", versions = "k1@null=null,b", expected = "k1@null=a,b")
  }

  test("a delete neither fills nor is filled") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@11-", "Deleted k1")
    assertOutcomes(base = "k1@10=a,b", versions = "k1@9-", "Kept k1@10=a,b")
  }

  test("a row that wins over a delete is not filled with older values") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11- k1@12=null,d", expected = "k1@12=null,d")
    assertMerged(base = "k1@10=a,b", versions = "k1- k1@1=null,d", expected = "k1@1=null,d")
    assert(fold.merge(Notation.record("k1@11-"), Notation.record("k1@12=c")).endsHistory)
  }

  test("a row that loses to a delete does not fill later rows") {
    assertMerged(base = "k1@10=a,b", versions = "k1@12- k1@11=c,d k1@13=e", expected = "k1@13=e")
  }

  test("after a delete that lost, nulls still take the stored values") {
    assertMerged(base = "k1@10=a,b", versions = "k1@9- k1@12=c", expected = "k1@12=c,b")
  }

  test("a row that was filled after a delete without an ordering value still ends history") {
    val fresh = fold.merge(Notation.record("k1-"), Notation.record("k1@5=a"))
    assert(fold.merge(fresh, Notation.record("k1@6=null,b")).endsHistory)
    assert(fold.merge(fresh, Notation.record("k1@4=null,b")).endsHistory)
  }

  test("versions are folded from the stored row: a late one fills no null that the stored row has a value for") {
    assertMerged(base = "k1@5=a,b", versions = "k1@7=null,c k1@6=x,y", expected = "k1@7=a,c")
    val (stored, winner, late) =
      (Notation.record("k1@5=a,b"), Notation.record("k1@7=null,c"), Notation.record("k1@6=x,y"))
    assert(Notation.read(fold.merge(stored, fold.merge(winner, late))).toString == "k1@7=x,c",
      "which is why grouping matters")
  }

  test("the versions of one batch are combined before they are merged with the stored row") {
    assert(Notation.read(combined("k1@7=null,c", "k1@6=x,y")).toString == "k1@7=x,c")
    assert(Notation.read(combined("k1@6=x", "k1@7=null,c")).toString == "k1@7=x,c")
  }

  test("in a batch a losing delete has no effect, but one without an ordering value ends history") {
    assert(!combined("k1@6-", "k1@7=a").endsHistory)
    assert(combined("k1-", "k1@7=a").endsHistory)
    assert(Notation.read(combined("k1@7=a", "k1@8-")).isDelete)
    assert(Notation.read(combined("k1@9-", "k1@8=a")).isDelete)
  }

  test("a partial version is overlaid first, then its nulls take the older values") {
    assert(merged("k1@10=a,b", "k1@11=null,_") == "k1@11=a,b")
    assert(merged("k1@10=a", "k1@9=_,d") == "k1@10=a,d")
    assert(merged("k1@10=a,b", "k1@12=_,d") == "k1@12=a,d")
  }

  test("the winner of two partial versions is filled with the other one's values") {
    assert(merged("k1@10=a,_", "k1@11=_,d") == "k1@11=a,d")
    assert(merged("k1@10=null,_", "k1@9=c,_") == "k1@10=c,_")
  }

  test("no row is created when there is nothing to fill") {
    val (a, b, late) = (Notation.record("k1@1=a,b"), Notation.record("k1@2=c,d"), Notation.record("k1@1=e,f"))
    assert(fold.merge(a, b) eq b)
    assert(fold.merge(b, late) eq b)
    assert(fold.merge(Notation.record("k1@1=a"), b) eq b)
  }

  test("the commit metadata columns of a filled row are those of the newer version") {
    val filling = FillMissingRule.byEventTime(Notation.layout, MissingValues.Nulls, commitMetadataColumns = Seq("w"))
    def of(two: String) =
      Notation.read(Notation.changes(two).map(Notation.record).reduceLeft(filling.merge(_, _))).toString
    assert(of("k1@10=null,first k1@9=a,second") == "k1@10=a,second")
    assert(of("k1@10=b,first k1@9=a,second") == "k1@10=b,first", "it was not filled")
    assert(of("k1@10=a,first k1@11=null,second") == "k1@11=a,second")
    assert(of("k1@10=a,first k1@11=b") == "k1@11=b", "null commit metadata is not filled")
  }
}

/** The newer version wins, whatever the ordering values. */
class IgnoreDefaultsByCommitTimeSuite extends MergeSuite {

  override val rule: MergeRule =
    new PartialRule(FillMissingRule.byCommitTime(Notation.layout, MissingValues.Nulls, Nil), Notation.layout)

  test("nulls of the newer version take the older values, even with a smaller ordering value") {
    assertOutcomes(base = "k1@10=a,b", versions = "k1@9=c", "Updated k1@9=c,b")
    assertMerged(base = "k1@10=a,b", versions = "k1@9=null,d k1@8=e", expected = "k1@8=e,d")
  }

  test("a null ordering value takes the older value") {
    assertMerged(base = "k1@10=a,b", versions = "k1@null=c", expected = "k1@10=c,b")
  }

  test("a row after a delete is not filled with older values") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11- k1@12=c", expected = "k1@12=c")
    assertMerged(base = "k1@10=a,b", versions = "k1- k1@12=c", expected = "k1@12=c")
  }
}

/** A marker text is "not sent": the other version's value stays. */
class FillUnavailableSuite extends MergeSuite {

  override val rule: MergeRule =
    new PartialRule(FillMissingRule.byEventTime(Notation.layout, MissingValues.Marked("__debezium_unavailable_value"),
        Nil),
      Notation.layout)

  test("an unavailable value takes the stored value or null, and a null stays null") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11=__debezium_unavailable_value,d", expected = "k1@11=a,d")
    assertMerged(base = "k1@10=a", versions = "k1@11=c,__debezium_unavailable_value", expected = "k1@11=c")
    assertMerged(base = "k1@10=a,b", versions = "k1@11=null,d", expected = "k1@11=null,d")
  }

  test("an unavailable value without a stored one is stored, and a late version fills it") {
    assertMerged(base = "", versions = "k1@10=__debezium_unavailable_value,b",
      expected = "k1@10=__debezium_unavailable_value,b")
    assertMerged(
      base = "k1@10=__debezium_unavailable_value,b",
      versions = "k1@11=__debezium_unavailable_value,d",
      expected = "k1@11=__debezium_unavailable_value,d"
    )
    assertMerged(base = "k1@10=__debezium_unavailable_value,b", versions = "k1@9=x,y", expected = "k1@10=x,b")
  }

  test("only the exact placeholder counts as an unavailable value") {
    assertMerged(base = "k1@10=a,b", versions = "k1@11=__DEBEZIUM_UNAVAILABLE_VALUE,d",
      expected = "k1@11=__DEBEZIUM_UNAVAILABLE_VALUE,d")
    assertMerged(base = "k1@10=a,b", versions = "k1@11=__debezium_unavailable_value2,d",
      expected = "k1@11=__debezium_unavailable_value2,d")
  }
}
