package io.merganser.table.change

import io.merganser.Extensive
import io.merganser.table.DrawnPoints

/**
 * [[ArchivedWindowsSuite]] with every operation, each on one kind of table; MERGANSER_FULL=1 takes all kinds, another
 * MERGANSER_SEED others.
 */
@Extensive
final class ArchivedHistoriesSuite extends ArchivedWindows {
  import ArchivedWindows._

  /** Version, whether merge on read, whether in buckets. */
  private val kinds = for {
    version     <- Seq(9, 8, 6)
    mergeOnRead <- Seq(true, false)
    bucketed    <- Seq(true, false)
  } yield (version, mergeOnRead, bucketed)

  for {
    (name, history)                       <- histories
    (_, (version, mergeOnRead, bucketed)) <- DrawnPoints.of(kinds.map(name -> _), share = kinds.size)
  } test(
    s"version $version, ${if (mergeOnRead) "merge on read" else "copy on write"}, " +
      s"${if (bucketed) "buckets" else "keys looked up"}, $name: archiving changes no result") {
    requireSameAnswers(created(version, mergeOnRead, bucketed),
      table => {
        upsert(table, "k5@30- k7@10=logged")
        history(table)
        Seq("k1@80=after k2@30=z", "k2@51=w", "k2@52=v").foreach(upsert(table, _))
      })
  }
}
