package io.merganser.table.settings

import io.merganser.merge.MerganserException
import io.merganser.table.options.{Options, Settings}
import io.merganser.table.properties.TableConfig

/** How key and partition columns become record key and partition path; chosen at creation. */
object KeyGenerator {

  private val Package = "org.apache.hudi.keygen."

  private val types: Map[String, String] = Seq("SIMPLE", "COMPLEX", "TIMESTAMP", "CUSTOM", "NON_PARTITION")
    .flatMap(name => Seq(name -> name, s"${name}_AVRO" -> name)).toMap

  private val classes: Map[String, String] =
    Seq("Simple" -> "SIMPLE", "Complex" -> "COMPLEX", "TimestampBased" -> "TIMESTAMP",
      "Custom" -> "CUSTOM", "Nonpartitioned" -> "NON_PARTITION")
      .flatMap { case (start, name) =>
        Seq(s"$Package${start}KeyGenerator" -> name, s"$Package${start}AvroKeyGenerator" -> name)
      }.toMap

  /**
   * The type of a new table's key generator.
   *
   * @param keys       record key columns
   * @param partitions partition columns, with their `:TYPE` if they have one
   * @throws MerganserException KEY_GENERATOR_UNSUPPORTED, KEY_GENERATOR_MISMATCH, OPTION_CONFLICT
   */
  def typeOf(settings: Settings, keys: Seq[String], partitions: Seq[String]): String = {
    val byType  = settings.given(Options.KeyGeneratorType).map(g => g -> ofType(g))
    val byClass = settings.given(Options.KeyGeneratorClass).map(g => g -> ofClass(g))
    for ((t, asType) <- byType; (c, asClass) <- byClass if asType != asClass)
      throw MerganserException("OPTION_CONFLICT", "key" -> t.name, "value" -> t.value, "otherKey" -> c.name,
        "otherValue" -> c.value)
    val configured = byType.orElse(byClass).map(_._2)
    // Without partitions a simple generator's keys and paths are those of NON_PARTITION, the type that readers expect.
    val chosen = configured match {
      case Some("SIMPLE") if partitions.isEmpty => "NON_PARTITION"
      case Some(name)                           => name
      case None                                 => infer(keys, partitions)
    }
    mismatch(chosen, partitions).foreach { reason =>
      throw MerganserException("KEY_GENERATOR_MISMATCH", "generator" -> chosen, "reason" -> reason)
    }
    chosen
  }

  /** The canonical type that an option names. */
  def canonical(option: Settings.Given): String = if (option.value.contains('.')) ofClass(option) else ofType(option)

  /**
   * The canonical type that a table stores.
   *
   * @throws MerganserException KEY_GENERATOR_UNSUPPORTED if its keys cannot be generated here
   */
  def stored(table: TableConfig): String = types.getOrElse(table.keyGeneratorType,
    throw MerganserException("KEY_GENERATOR_UNSUPPORTED", "key" -> s"hoodie.table.keygenerator.type of '${table.name}'",
      "value" -> table.keyGeneratorType))

  def className(generator: String): String =
    classes.collectFirst { case (name, `generator`) if !name.contains("Avro") => name }
      .getOrElse(throw new IllegalStateException(s"no class of key generator '$generator'"))

  private def infer(keys: Seq[String], partitions: Seq[String]): String =
    if (partitions.isEmpty) "NON_PARTITION"
    else if (partitions.exists(_.contains(':'))) "CUSTOM"
    else if (keys.size == 1 && partitions.size == 1) "SIMPLE"
    else "COMPLEX"

  private def ofType(option: Settings.Given): String =
    types.getOrElse(option.value.toUpperCase(java.util.Locale.ROOT), throw unsupported(option))

  private def ofClass(option: Settings.Given): String = classes.getOrElse(option.value, throw unsupported(option))

  private def unsupported(option: Settings.Given): MerganserException =
    MerganserException("KEY_GENERATOR_UNSUPPORTED", "key" -> option.name, "value" -> option.value)

  private def mismatch(generator: String, partitions: Seq[String]): Option[String] = generator match {
    case "NON_PARTITION" if partitions.nonEmpty => Some(s"the table is partitioned by ${partitions.mkString(", ")}")
    case "SIMPLE" if partitions.size > 1 =>
      Some(s"it takes one partition column, not ${partitions.mkString(", ")}; use COMPLEX")
    case "TIMESTAMP" if partitions.size != 1 =>
      Some(s"it takes one partition column, not ${if (partitions.isEmpty) "none" else partitions.mkString(", ")}")
    case "CUSTOM" =>
      partitions.find { p =>
        val kind = p.drop(p.lastIndexOf(':') + 1).trim
        !p.contains(':') || !(kind.equalsIgnoreCase("SIMPLE") || kind.equalsIgnoreCase("TIMESTAMP"))
      }.map(p => s"partition column '$p' must be written as column:SIMPLE or column:TIMESTAMP")
    case other if other != "CUSTOM" =>
      partitions.find(_.contains(':')).map(p => s"partition column '$p' has a type, which only CUSTOM supports")
    case _ => None
  }
}
