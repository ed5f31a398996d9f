package io.merganser.table.settings

import io.merganser.merge.{MerganserException, NamedValue}
import io.merganser.table.options.{OptionEntry, Options, Settings}
import io.merganser.table.properties.{PartitionKind, TableConfig}

/**
 * How key and partition columns become record key and partition path; chosen at creation.
 *
 * @param name       the type in the table's properties
 * @param simpleName of its class
 * @param avroName   simple name of the class for Avro records, whose keys are the same
 */
sealed abstract class KeyGenerator(val name: String, simpleName: String, avroName: String) extends NamedValue {

  /** What tables before version 8 store besides the type. */
  def className: String = KeyGenerator.Package + simpleName

  private def avroClassName: String = KeyGenerator.Package + avroName

  private def names: Seq[String] = Seq(name, s"${name}_AVRO")

  private def classNames: Seq[String] = Seq(className, avroClassName)
}

object KeyGenerator {
  case object Simple extends KeyGenerator("SIMPLE", "SimpleKeyGenerator", "SimpleAvroKeyGenerator")
  case object Complex extends KeyGenerator("COMPLEX", "ComplexKeyGenerator", "ComplexAvroKeyGenerator")
  case object Timestamp
      extends KeyGenerator("TIMESTAMP", "TimestampBasedKeyGenerator", "TimestampBasedAvroKeyGenerator")

  /** Each partition column has a kind of its own. */
  case object Custom extends KeyGenerator("CUSTOM", "CustomKeyGenerator", "CustomAvroKeyGenerator")
  case object NonPartition
      extends KeyGenerator("NON_PARTITION", "NonpartitionedKeyGenerator", "NonpartitionedAvroKeyGenerator")

  /** Without partitions; a single key has its column's name too. */
  case object GlobalDelete
      extends KeyGenerator("GLOBAL_DELETE", "GlobalDeleteKeyGenerator", "GlobalAvroDeleteKeyGenerator")

  val all: Seq[KeyGenerator] = Seq(Simple, Complex, Timestamp, Custom, NonPartition, GlobalDelete)

  private val Package = "org.apache.hudi.keygen."

  /** Names of generators that Hudi puts around the inferred one: in SQL statements, and around generated keys. */
  private val OfStatements = Seq("SPARK_SQL", "SPARK_SQL_MERGE_INTO", "SqlKeyGenerator", "MergeIntoKeyGenerator")
  private val OfGenerated = Seq("AUTO_RECORD", "AUTO_RECORD_AVRO", "AutoRecordGenWrapperKeyGenerator",
    "AutoRecordGenWrapperAvroKeyGenerator")

  /**
   * The key generator of a new table.
   *
   * @param keys       record key columns; none where keys are generated for each row
   * @param partitions partition columns, with their `:TYPE` if they have one
   * @throws MerganserException KEY_GENERATOR_UNSUPPORTED, KEY_GENERATOR_MISMATCH, OPTION_CONFLICT
   */
  def of(settings: Settings, keys: Seq[String], partitions: Seq[String]): KeyGenerator = {
    def named(entry: OptionEntry) = for (g <- settings.configured(entry); n <- this.named(g, keys)) yield g -> n
    val byType                    = named(Options.KeyGeneratorType)
    val byClass                   = named(Options.KeyGeneratorClass)
    for ((t, asType) <- byType; (c, asClass) <- byClass if asType != asClass)
      throw MerganserException("OPTION_CONFLICT", "key" -> t.name, "value" -> t.value, "otherKey" -> c.name,
        "otherValue" -> c.value)
    val configured = byType.orElse(byClass).map(_._2)
    // Without partitions a simple generator's keys and paths are those of NON_PARTITION, the type that readers expect.
    val chosen = configured match {
      case Some(Simple) if partitions.isEmpty => NonPartition
      case Some(generator)                    => generator
      case None                               => infer(keys, partitions)
    }
    mismatch(chosen, keys, partitions).foreach { reason =>
      throw MerganserException("KEY_GENERATOR_MISMATCH", "generator" -> chosen, "reason" -> reason)
    }
    chosen
  }

  /**
   * Type and class as a new table stores them: those for Avro records where an option names that class, since Hudi
   * compares it with the options of later writes.
   */
  private[settings] def named(generator: KeyGenerator, settings: Settings): (String, String) =
    settings.explicit(Options.KeyGeneratorClass) match {
      case Some(name) if name == generator.avroClassName => (s"${generator.name}_AVRO", name)
      case _                                             => (generator.name, generator.className)
    }

  /**
   * The one that an option names, by type or by class; None where it is to be inferred.
   *
   * @param keys record key columns
   * @throws MerganserException KEY_GENERATOR_UNSUPPORTED; KEY_GENERATOR_MISMATCH for one that generates keys, in a
   *                            table with key columns
   */
  def named(option: Settings.Configured, keys: Seq[String]): Option[KeyGenerator] = {
    val simple = option.value.trim.split('.').last
    if (OfStatements.contains(simple)) None
    else if (OfGenerated.contains(simple)) {
      if (keys.nonEmpty)
        throw MerganserException("KEY_GENERATOR_MISMATCH", "generator" -> option.value,
          "reason" -> s"it generates a key for each row, and the table has key columns (${keys.mkString(", ")})")
      None
    } else Some(if (option.value.contains('.')) ofClass(option) else ofType(option))
  }

  /**
   * The one that a table stores.
   *
   * @throws MerganserException KEY_GENERATOR_UNSUPPORTED if its keys cannot be generated here
   */
  def stored(table: TableConfig): KeyGenerator = ofName(table.keyGeneratorType).getOrElse(
    throw MerganserException("KEY_GENERATOR_UNSUPPORTED", "key" -> s"hoodie.table.keygenerator.type of '${table.name}'",
      "value" -> table.keyGeneratorClass.getOrElse(table.keyGeneratorType)))

  /** Whether it is one of these, so that [[stored]] returns it. */
  def isKnown(table: TableConfig): Boolean = ofName(table.keyGeneratorType).isDefined

  private def infer(keys: Seq[String], partitions: Seq[String]): KeyGenerator =
    if (partitions.isEmpty) NonPartition
    else if (partitions.exists(_.contains(':'))) Custom
    else if (keys.size <= 1 && partitions.size == 1) Simple
    else Complex

  private def ofName(name: String): Option[KeyGenerator] = all.find(_.names.contains(name))

  private def ofType(option: Settings.Configured): KeyGenerator =
    ofName(option.value.toUpperCase(java.util.Locale.ROOT)).getOrElse(throw unsupported(option))

  private def ofClass(option: Settings.Configured): KeyGenerator =
    all.find(_.classNames.contains(option.value)).getOrElse(throw unsupported(option))

  private def unsupported(option: Settings.Configured): MerganserException =
    MerganserException("KEY_GENERATOR_UNSUPPORTED", "key" -> option.name, "value" -> option.value)

  private def mismatch(
      generator: KeyGenerator,
      keys: Seq[String],
      partitions: Seq[String]
  ): Option[String] = generator match {
    case Simple | Timestamp if keys.size > 1 =>
      Some(s"it takes one record key column, not ${keys.mkString(", ")}; use COMPLEX or CUSTOM")
    case NonPartition | GlobalDelete if partitions.nonEmpty =>
      Some(s"the table is partitioned by ${partitions.mkString(", ")}")
    case Simple if partitions.size > 1 =>
      Some(s"it takes one partition column, not ${partitions.mkString(", ")}; use COMPLEX")
    case Timestamp if partitions.size != 1 =>
      Some(s"it takes one partition column, not ${if (partitions.isEmpty) "none" else partitions.mkString(", ")}")
    case Custom =>
      def kind(partition: String) = PartitionKind.parse(partition.drop(partition.lastIndexOf(':') + 1))
      partitions.find(p => !p.contains(':') || kind(p).isInstanceOf[PartitionKind.Other]).map(p =>
        s"partition column '$p' must be written as column:SIMPLE or column:TIMESTAMP")
    case _ =>
      partitions.find(_.contains(':')).map(p => s"partition column '$p' has a type, which only CUSTOM supports")
  }
}
