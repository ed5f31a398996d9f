package io.merganser.table.change

import io.merganser.Extensive

/** [[ArchivedWindowsSuite]] with every operation, on both types of tables and in every version. */
@Extensive
final class ArchivedHistoriesSuite extends ArchivedWindows {
  import ArchivedHistoriesSuite._
  import ArchivedWindows._

  for {
    (version, mergeOnRead, bucketed) <- kinds
    (name, history)                  <- histories
  } test(s"version $version, ${if (mergeOnRead) "merge on read" else "copy on write"}, " +
    s"${if (bucketed) "buckets" else "keys looked up"}, $name: archiving changes no answer") {
    requireSameAnswers(created(version, mergeOnRead, bucketed), table => {
      upsert(table, "k5@30- k7@10=logged")
      history(table)
      Seq("k1@80=after k2@30=z", "k2@51=w", "k2@52=v").foreach(upsert(table, _))
    })
  }
}

private object ArchivedHistoriesSuite {

  private val all = for {
    version     <- Seq(9, 8, 6)
    mergeOnRead <- Seq(true, false)
    bucketed    <- Seq(true, false)
  } yield (version, mergeOnRead, bucketed)

  /** Version, whether merge on read, whether in buckets. */
  val kinds: Seq[(Int, Boolean, Boolean)] =
    if (sys.env.get("MERGANSER_FULL").contains("1")) all
    else Seq((9, true, true), (8, true, false), (6, true, true), (9, false, false))
}
