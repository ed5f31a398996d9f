package io.merganser.table.damage

import io.merganser.merge.{Change, Notation}
import io.merganser.table.DirectTable
import io.merganser.table.commit.{Creation, Rollback, Transaction}
import io.merganser.table.file.Markers
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.TableAccess
import io.merganser.table.storage.{Storage, TableLock}
import io.merganser.table.timeline.Timeline

/** Small tables of our own, with files of every kind that we write. */
object OurTables {

  val all: Seq[(String, Storage => Unit)] = Seq(
    "our_cow" -> (storage => write(table(storage, mergeOnRead = false))),
    "our_mor" -> { storage =>
      val of = table(storage, mergeOnRead = true)
      write(of)
      of.compact()
      of.upsert(changes("k1@40=again k2@41-"))
      ()
    },
    "our_mor_bucket" -> { storage =>
      val of = table(storage, mergeOnRead = true, bucketed = true)
      write(of)
      of.scheduleCompaction()
      of.upsert(changes("k3@50=later"))
      ()
    },
    "our_mor_failed" -> failed,
    "our_mor_listed_markers" -> { storage =>
      failed(storage)
      listMarkers(storage)
      // What writers leave that ended while they held the lock.
      val lock = TableLock.hold(storage, TableLock.Settings(leaseMs = 200))(_ => storage.read(TableLock.File))
      storage.replace(TableLock.File, lock)
      storage.replace(".hoodie/.heartbeat/20200101000000000", Array.emptyByteArray)
    },
    "our_mor_many_rows" -> { storage =>
      val of = table(storage, mergeOnRead = true)
      of.upsert(many("@10=row"))
      of.upsert(many("@11=changed"))
      of.upsert(changes("k1@20=changed k5@22-"))
      ()
    },
    "our_cow_v6" -> (storage => write(table(storage, mergeOnRead = false, version = 6))),
    "our_mor_v8" -> (storage => write(table(storage, mergeOnRead = true, version = 8)))
  )

  /** Each returns the rows afterwards. */
  val writes: Seq[(String, Storage => Seq[String])] = Seq(
    "upsert" -> { storage =>
      val of = opened(storage)
      of.upsert(changes("k1@70=last k8@71- k77@72=added"))
      rows(of)
    },
    "compaction" -> { storage =>
      val of = opened(storage)
      of.compact()
      rows(of)
    },
    "rollback" -> { storage =>
      Rollback.failed(storage, TableConfig.load(storage), options)
      rows(opened(storage))
    }
  )

  private def opened(storage: Storage) = new DirectTable(storage, isBucketed(storage), options)

  /** A lock that a damage has made valid for longer is waited for. */
  private val options = Transaction.Options(TableAccess(TableLock.Settings(timeoutMs = 1000)))

  private def isBucketed(storage: Storage): Boolean = storage.toString.contains("bucket")

  private def rows(of: DirectTable): Seq[String] = of.rows.map(_.toString).sorted ++
    of.readOptimizedRows.map(_.toString).sorted

  def changes(text: String): Seq[Change] = Notation.changes(text)

  private def failed(storage: Storage): Unit = {
    val of = table(storage, mergeOnRead = true)
    write(of)
    of.begun(changes("k1@60=never k9@61=never"))
    ()
  }

  /** Enough rows for Parquet blocks. */
  private def many(version: String): Seq[Change] = changes((0 until 2400).map(i => s"k$i$version$i").mkString(" "))

  /** The markers of the pending write in the other form: one per line of a file. */
  private def listMarkers(storage: Storage): Unit = {
    val instant = Timeline.load(storage, TableConfig.load(storage)).pending.last.requested
    val markers = new Markers(storage, instant)
    val lines   = markers.all.map(marker => s"${marker.path}.marker.${marker.kind.name}")
    markers.deleteAll()
    storage.replace(s".hoodie/.temp/$instant/MARKERS.type", "TIMELINE_SERVER_BASED".getBytes)
    storage.replace(s".hoodie/.temp/$instant/MARKERS0", lines.mkString("", "\n", "\n").getBytes)
  }

  private def write(table: DirectTable): Unit = {
    table.upsert(changes((0 until 40).map(i => s"k$i@10=row$i,value$i").mkString(" ")))
    table.upsert(changes("k1@20=changed k4@21=changed,twice k5@22- k7@5=older"))
    table.upsert(changes("k40@30=new k4@31=thrice k6-"))
    ()
  }

  def table(storage: Storage, mergeOnRead: Boolean, bucketed: Boolean = false, version: Int = 9): DirectTable = {
    val properties = DirectTable.properties(mergeOnRead) ++ Map(
      "hoodie.table.version" -> version.toString,
      "hoodie.timeline.layout.version" -> (if (version >= 8) "2" else "1"),
      "hoodie.table.initial.version" -> version.toString)
    Creation.create(storage, properties)
    new DirectTable(storage, bucketed, Transaction.Options())
  }
}
