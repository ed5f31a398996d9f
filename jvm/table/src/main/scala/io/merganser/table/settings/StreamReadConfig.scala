package io.merganser.table.settings

import io.merganser.table.options.{Options, Settings}

/**
 * How a stream reads a table.
 *
 * @param start    where it begins: `earliest`, `latest` or a time, as the user wrote it
 * @param maxFiles of one micro-batch; None: all there are
 * @param maxBytes of the files of one micro-batch; None: all there are
 */
final case class StreamReadConfig(start: String, maxFiles: Option[Long], maxBytes: Option[Long]) {

  def isLimited: Boolean = maxFiles.isDefined || maxBytes.isDefined

  def isEarliest: Boolean = start.equalsIgnoreCase("earliest") || (start.nonEmpty && start.forall(_ == '0'))

  def isLatest: Boolean = start.equalsIgnoreCase("latest")
}

object StreamReadConfig {

  /** @throws io.merganser.merge.MerganserException what [[Settings.ofRead]] throws */
  def parse(options: Map[String, String], sessionConf: Map[String, String]): StreamReadConfig = {
    val settings = Settings.ofRead(options, sessionConf)
    StreamReadConfig(
      settings.required(Options.StreamStart).trim,
      settings.explicit(Options.StreamMaxFiles).map(_.toLong),
      settings.explicit(Options.StreamMaxBytes).map(_.toLong)
    )
  }
}
