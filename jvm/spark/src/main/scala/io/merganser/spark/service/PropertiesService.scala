package io.merganser.spark.service

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.spark.write.key.KeyColumns
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.MetaColumns
import io.merganser.table.service.{
  PropertiesCheck,
  PropertiesRepair,
  PropertiesSource,
  PropertyChange,
  RecreatedProperties
}
import io.merganser.table.settings.{KeylessTable, TableAccess}
import io.merganser.table.slice.SliceWriter
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{Column, SparkSession}
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.merganser.SparkBridge
import org.slf4j.LoggerFactory
import org.apache.spark.sql.types.{ByteType, DataType, IntegerType, LongType, ShortType, StringType, StructType}

/** Repairs of `hoodie.properties`, checked against the table's rows; the table need not be readable before. */
object PropertiesService {

  private val Log = LoggerFactory.getLogger(classOf[PropertiesRepair])

  /** Stored rows whose keys are compared with those that the properties give. */
  private val Sample = 100

  /** Types of keys that have one form as a string. */
  private val Plain = Set[DataType](StringType, ByteType, ShortType, IntegerType, LongType)

  /** Keys that are generated: instant, task, row. */
  private val Generated = "\\d{14,17}_\\d+_\\d+"

  /**
   * Replaces all properties by those of a file.
   *
   * @param file in the format of Java properties
   */
  def overwrite(session: SparkSession, path: String, file: String): Seq[PropertyChange] = {
    val storage = OpenTable.storage(session, path)
    val source  = new Path(file)
    val parent  = new Storage(Option(source.getParent).getOrElse(new Path(".")), storage.conf)
    val properties =
      try PropertiesRepair.parse(parent.read(source.getName))
      catch {
        case e @ (_: java.io.FileNotFoundException | _: IllegalArgumentException) =>
          throw MerganserException("TABLE_PROPERTIES_INVALID", "file" -> source, "reason" -> e.getMessage).causedBy(e)
      }
    // They are replaced on purpose.
    repair(session, storage, properties)(e => Log.warn(e.getMessage)).overwrite(properties)
  }

  /**
   * Restores properties that are lost or damaged, and sets those that are named.
   *
   * @param dryRun changes nothing
   */
  def restore(
      session: SparkSession,
      path: String,
      named: Map[String, String],
      dryRun: Boolean
  ): (PropertiesSource, Seq[PropertyChange]) = {
    val storage = OpenTable.storage(session, path)
    repair(session, storage, named)(throw _).restore(named, dryRun) {
      RecreatedProperties.of(storage, named, session.conf.getAll)
    }
  }

  /** @param ofOtherRule what is done about properties with another rule than that of the commits */
  private def repair(session: SparkSession, storage: Storage, properties: Map[String, String])(
      ofOtherRule: MerganserException => Unit
  ): PropertiesRepair = {
    val lock = TableAccess.of(session.conf.getAll, TableConfig(properties)).lock
    new PropertiesRepair(storage, lock)(config => {
      PropertiesCheck.require(storage, config)
      PropertiesCheck.ruleContradiction(storage, config).foreach(ofOtherRule)
      requireKeys(session, storage, config)
    })
  }

  /** The keys and paths of some stored rows are those that the properties give. */
  private def requireKeys(session: SparkSession, storage: Storage, config: TableConfig): Unit = {
    val table = new OpenTable(storage, config, Timeline.load(storage, config))
    if (config.storesKeys && table.schema.nonEmpty)
      table.view.slicesOneByOne(most = 1).take(1).foreach { slice =>
        val columns = SliceWriter.rowSchema(table.schema)
        val rule    = scala.util.Try(StoredRule.of(config, Nil)).getOrElse(StoredRule.Unmerged)
        val reader  = table.reader(rule, columns)
        val rows    = reader.rows(slice)
        val some =
          try rows.take(Sample).map(_.copy()).toList
          finally rows.close()
        if (some.nonEmpty) {
          val frame = SparkBridge.internalCreateDataFrame(session, session.sparkContext.parallelize(some, 1),
            reader.input.schema)
          val wrong = frame.where(isWrong(config, table.schema)).select(MetaColumns.RecordKey).limit(1).collect()
          wrong.headOption.foreach { row =>
            throw PropertiesCheck.refused(storage, "hoodie.table.recordkey.fields",
              config.recordKeyFields.mkString(","),
              s"a row of file group '${slice.fileId}' has the key '${row.get(0)}'")
          }
        }
      }
  }

  private def isWrong(config: TableConfig, schema: StructType): Column = {
    val stored = col(MetaColumns.RecordKey)
    if (KeylessTable.is(config)) !stored.rlike(s"^$Generated$$")
    // Timestamps and decimals have several forms as strings.
    else if (config.keyGeneratorType == "USER_PROVIDED" || !config.recordKeyFields.forall(isPlain(schema, _)))
      stored.isNull
    else !(stored <=> KeyColumns.recordKey(config, schema))
  }

  private def isPlain(schema: StructType, field: String): Boolean =
    schema.find(_.name == field).map(_.dataType).exists(Plain.contains)
}
