package io.merganser.table.options

import io.merganser.table.options.OptionScope._

/** Constructors of options, for the objects that define them. */
private[options] trait OptionDefinitions {

  protected def table(key: String, kind: OptionKind, default: Option[String], doc: String, aliases: String*) =
    OptionEntry(key, kind, default, doc, OfTable, aliases.toSeq)
  protected def write(key: String, kind: OptionKind, default: Option[String], doc: String, aliases: String*) =
    OptionEntry(key, kind, default, doc, OfWrite, aliases.toSeq)
  protected def read(key: String, kind: OptionKind, default: Option[String], doc: String, aliases: String*) =
    OptionEntry(key, kind, default, doc, OfRead, aliases.toSeq)
}
