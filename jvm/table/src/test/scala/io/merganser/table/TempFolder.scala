package io.merganser.table

import io.merganser.table.storage.Storage
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.scalatest.{BeforeAndAfterEach, Suite}

import java.nio.file.{Files, Path => LocalPath}
import java.util.Comparator

/** A fresh folder for every test. */
trait TempFolder extends BeforeAndAfterEach { this: Suite =>
  protected val conf: Configuration = HadoopDefaults.shared
  protected var folder: LocalPath   = _

  protected def storage: Storage = Storage(folder.toUri.toString, conf)

  protected def path(name: String): Path = new Path(folder.resolve(name).toUri)

  override protected def beforeEach(): Unit = {
    super.beforeEach()
    folder = Files.createTempDirectory("merganser-")
  }

  override protected def afterEach(): Unit = {
    val files = Files.walk(folder)
    try files.sorted(Comparator.reverseOrder[LocalPath]).forEach(file => Files.delete(file))
    finally files.close()
    super.afterEach()
  }
}
