package io.merganser.table.service

import io.merganser.merge.MerganserException
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.slice.TableView
import io.merganser.table.storage.{Parallel, Storage}
import org.apache.hadoop.fs.ChecksumException

import scala.util.control.NonFatal

/** Base files that are no Parquet files any more, such as those that were cut short. */
object InvalidBaseFiles {

  /** Their paths in the table, also of older slices. */
  def of(storage: Storage, view: TableView): Seq[String] = {
    val files = view.allSlices(view.partitions).flatMap(_.base)
    Parallel.map(files, "read footers") { base =>
      try { BaseFileFooter.read(storage.conf, storage.path(base.path), base.sizeBytes); None }
      catch {
        case e: MerganserException if e.condition == "BASE_FILE_UNREADABLE"                => Some(base.path)
        case _: ChecksumException                                                          => Some(base.path)
        case NonFatal(e) if String.valueOf(e.getMessage).contains("is not a Parquet file") => Some(base.path)
      }
    }.flatten
  }
}
