package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Names, OptionEntry, Options, Settings, WriteOperation}
import io.merganser.table.properties.TableConfig

/** A table without record key columns: each inserted row gets a key of its own, `<instant>_<task>_<row>`. */
object KeylessTable {

  def is(table: TableConfig): Boolean = table.recordKeyFields.isEmpty

  /**
   * Refuses to create such a table for a user who rather forgot the key: by an option for it without a name, or by an
   * operation that finds stored rows by their key.
   *
   * @param options as the user wrote them: [[Settings]] ignore empty ones
   * @throws MerganserException RECORD_KEY_REQUIRED, KEYS_ARE_GENERATED
   */
  private[settings] def requireCreatable(options: Map[String, String], settings: Settings, table: String): Unit = {
    def refuse(reason: String) = throw MerganserException("RECORD_KEY_REQUIRED", "table" -> table, "reason" -> reason)
    val names                  = Options.RecordKey.names.map(Names.lower).toSet
    options.keys.find(key => names(Names.lower(key))).foreach(key => refuse(s"option '$key' names no column"))
    settings.configured(Options.Operation).filter(o => findsKeys(o.value)).foreach(option =>
      refuse(s"option '${option.name}' is '${option.value}', which finds stored rows by their key"))
    settings.configured(Options.IndexTypeOption).filter(_.value == "BUCKET").foreach(generated(_, table))
    // Virtual keys are computed from key columns.
    options.find { case (k, v) => Names.lower(k) == MetaFields && v.trim.equalsIgnoreCase("false") }
      .foreach { case (k, v) => generated(Settings.Configured(k, v), table) }
    requireNoUse(settings, table)
  }

  private val MetaFields = "hoodie.populate.meta.fields"

  /**
   * Refuses options of a write that compare keys: no two of the generated ones are equal. The session's are defaults
   * for all tables, and have no effect on this one.
   *
   * @throws MerganserException KEYS_ARE_GENERATED
   */
  private[settings] def requireNoUse(settings: Settings, table: String): Unit = {
    def refuse(entry: OptionEntry, values: String*): Unit =
      settings.configured(entry).filter(o => values.contains(o.value) && !settings.isFromSession(entry))
        .foreach(generated(_, table))
    refuse(Options.IndexTypeOption, "BUCKET")
    refuse(Options.CombineBeforeInsert, "true")
    refuse(Options.InsertDropDuplicates, "true")
    refuse(Options.InsertDuplicatePolicy, "drop", "fail")
  }

  private def generated(option: Settings.Configured, table: String): Unit =
    throw MerganserException("KEYS_ARE_GENERATED", "table" -> table, "key" -> option.name, "value" -> option.value)

  /**
   * The operation of a write: without keys the default is to insert, and SQL has no rows to find.
   *
   * @param named by options, session or table
   */
  private[settings] def operation(named: Option[String], isSql: Boolean): WriteOperation =
    named.map(WriteOperation.of).filterNot(isSql && _ == WriteOperation.Upsert).getOrElse(WriteOperation.Insert)

  private def findsKeys(operation: String): Boolean =
    operation == WriteOperation.Upsert.name || operation == WriteOperation.Delete.name
}
