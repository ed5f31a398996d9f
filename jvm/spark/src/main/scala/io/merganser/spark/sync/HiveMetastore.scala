package io.merganser.spark.sync

import io.merganser.merge.MerganserException
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.hive.conf.HiveConf
import org.apache.hadoop.hive.metastore.HiveMetaStoreClient
import org.apache.hadoop.hive.metastore.api._

import java.util.{ArrayList, HashMap, List => JavaList}
import scala.collection.JavaConverters._

/** A partition in the metastore: the values of its columns, and the path of its folder. */
private[sync] final case class HivePartition(values: Seq[String], location: String)

/** The calls of a Hive metastore that a registration needs. */
private[sync] final class HiveMetastore(client: HiveMetaStoreClient) {

  def requireDatabase(name: String, creates: Boolean): Unit =
    if (!client.getAllDatabases.contains(name)) {
      if (!creates) throw new NoSuchObjectException(
        s"there is no database '$name', and hoodie.datasource.hive_sync.auto_create_database is false")
      try client.createDatabase(new Database(name, "created by a write of Merganser", null, new HashMap))
      catch { case _: AlreadyExistsException => () }
    }

  def table(database: String, name: String): Option[Table] =
    try Some(client.getTable(database, name))
    catch { case _: NoSuchObjectException => None }

  /** Another writer may have created it meanwhile. */
  def create(table: Table): Unit =
    try client.createTable(table)
    catch { case _: AlreadyExistsException => () }

  /** @param cascades whether the columns of its partitions are changed too */
  def alter(table: Table, cascades: Boolean): Unit = {
    val context = new EnvironmentContext
    if (cascades) context.putToProperties("CASCADE", "true")
    // The number of files and their sizes would be those of all versions.
    context.putToProperties("DO_NOT_UPDATE_STATS", "true")
    client.alter_table_with_environmentContext(table.getDbName, table.getTableName, table, context)
  }

  def partitions(table: Table): Seq[HivePartition] =
    client.listPartitions(table.getDbName, table.getTableName, (-1).toShort).asScala.toSeq.map(p =>
      HivePartition(p.getValues.asScala.toSeq, p.getSd.getLocation))

  /** Those that exist stay as they are. */
  def add(table: Table, partitions: Seq[HivePartition]): Unit = if (partitions.nonEmpty) {
    val added = new ArrayList[Partition]
    partitions.foreach { each =>
      val storage = table.getSd.deepCopy
      storage.setLocation(each.location)
      added.add(new Partition(values(each), table.getDbName, table.getTableName, 0, 0, storage, new HashMap))
    }
    client.add_partitions(added, true, false)
    ()
  }

  /** Leaves the files. */
  def drop(table: Table, partitions: Seq[HivePartition]): Unit = partitions.foreach { each =>
    try { client.dropPartition(table.getDbName, table.getTableName, values(each), false); () }
    catch { case _: NoSuchObjectException => () }
  }

  private def values(partition: HivePartition): JavaList[String] = new ArrayList(partition.values.asJava)
}

private[sync] object HiveMetastore {

  private val Uris = "hive.metastore.uris"

  /** The addresses of a metastore that a configuration names; None for Hive's database in the working directory. */
  def uris(conf: Configuration): Option[String] = Option(conf.get(Uris)).map(_.trim).filter(_.nonEmpty)

  /** @throws MerganserException HIVE_CLIENT_MISSING */
  def connected[T](conf: Configuration, uris: String)(body: HiveMetastore => T): T = {
    val hive =
      try {
        val hive = new HiveConf(conf, classOf[HiveConf])
        hive.set(Uris, uris)
        hive
      } catch {
        case e: LinkageError => throw MerganserException("HIVE_CLIENT_MISSING", "reason" -> e).causedBy(e)
      }
    val client = new HiveMetaStoreClient(hive)
    try body(new HiveMetastore(client))
    finally client.close()
  }
}
