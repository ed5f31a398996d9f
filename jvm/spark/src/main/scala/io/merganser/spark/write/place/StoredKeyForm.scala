package io.merganser.spark.write.place

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.base.BaseFileFooter
import io.merganser.table.options.{OptionEntry, Options}
import io.merganser.table.schema.FrameCheck
import io.merganser.table.settings.{KeyGenerator, WriteConfig}
import org.apache.spark.sql.types.TimestampType

/**
 * The form of a table's stored keys, where its properties leave it open: Hudi's writers choose it by an option that no
 * table stores, and with another form a key would be stored a second time. One footer of a base file shows it.
 */
object StoredKeyForm {

  private val Micros  = "-?\\d+".r
  private val Logical = "-?\\d{4,}-\\d\\d-\\d\\d .*".r

  /**
   * The settings with the form of the stored keys.
   *
   * @throws MerganserException CONFIG_CONFLICT if an option requests another form
   */
  def settled(settings: WriteConfig, table: OpenTable): WriteConfig = {
    val open = undecided(table)
    if (open.isEmpty) settings
    else newestKey(table).fold(settings) { key =>
      val found = open.flatMap(entry => isSet(entry, key, table).map(entry.key -> _.toString))
      for ((name, stored) <- found; requested <- settings.keyForm.get(name) if requested != stored)
        throw MerganserException("CONFIG_CONFLICT", "key" -> name, "value" -> requested, "stored" -> stored,
          "by" -> s"by its stored key '$key', table '${table.config.name}' has")
      settings.copy(keyForm = settings.keyForm ++ found)
    }
  }

  private def undecided(table: OpenTable): Seq[OptionEntry] = {
    val config                 = table.config
    def isOpen(e: OptionEntry) = !e.names.exists(config.properties.contains)
    def isTime(field: String)  = FrameCheck.find(table.schema, field).exists(_.dataType == TimestampType)
    val keys                   = config.recordKeyFields
    (if (isOpen(Options.LogicalTimestamp) && keys.exists(isTime)) Seq(Options.LogicalTimestamp) else Nil) ++
      (if (
         config.version < 9 && isOpen(Options.ComplexKeyWithoutName) && keys.size == 1 &&
         KeyGenerator.stored(config) == KeyGenerator.Complex
       ) Seq(Options.ComplexKeyWithoutName)
       else Nil)
  }

  /** The value of the option with which the key was made; None if the key does not show it. */
  private def isSet(entry: OptionEntry, key: String, table: OpenTable): Option[Boolean] = {
    val fields = table.config.recordKeyFields
    if (entry == Options.ComplexKeyWithoutName) Some(!key.startsWith(s"${fields.head}:"))
    else {
      val times = fields.filter(f => FrameCheck.find(table.schema, f).exists(_.dataType == TimestampType))
      times.flatMap(part(key, fields, _)).collectFirst {
        case Micros()  => false
        case Logical() => true
      }
    }
  }

  /** The string of one field in a key. */
  private def part(key: String, fields: Seq[String], field: String): Option[String] = {
    val name  = s"$field:"
    val start = if (key.startsWith(name)) 0 else key.indexOf(s",$name") + 1
    if (!key.startsWith(name, start)) { if (fields.size == 1) Some(key) else None }
    else {
      val next = fields.lift(fields.indexOf(field) + 1).map(f => key.indexOf(s",$f:", start)).filter(_ >= 0)
      Some(key.substring(start + name.length, next.getOrElse(key.length)))
    }
  }

  private def newestKey(table: OpenTable): Option[String] = {
    val bases = table.view.slices.flatMap(_.base).sortBy(_.instant).reverse
    bases.headOption.flatMap(file =>
      BaseFileFooter.read(table.storage.conf, table.storage.path(file.path), file.sizeBytes).minKey)
  }
}
