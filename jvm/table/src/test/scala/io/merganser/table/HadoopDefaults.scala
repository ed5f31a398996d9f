package io.merganser.table

import org.apache.hadoop.conf.Configuration

/** Hadoop's default configuration, which takes tens of milliseconds to parse. */
object HadoopDefaults {

  /** Must not be modified. */
  val shared: Configuration = {
    val conf = new Configuration()
    conf.size
    conf
  }

  /** A copy, with further settings. */
  def copy(settings: (String, String)*): Configuration = {
    val conf = new Configuration(shared)
    settings.foreach { case (key, value) => conf.set(key, value) }
    conf
  }
}
