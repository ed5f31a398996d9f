package io.merganser.spark.service

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit.NANOSECONDS

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.settings.WriteConfig
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.SparkSession

import scala.collection.JavaConverters._

/**
 * The services that run beside the writes of this process: one thread for each table. It ends with the application, and
 * when nothing is left to do for a minute, or the table is gone: nothing of the table is kept in memory then.
 * They need no lock provider: the table's lock excludes the threads of a process, and a run of a service changes no
 * row.
 */
object BackgroundServices {

  /** By the identity of their table. */
  private val workers = new ConcurrentHashMap[String, TableWorker]()

  private var watched: Option[SparkContext] = None

  /** How long the end of an application waits for cleans and archivings that its writes have left to the background. */
  private val EndMs = 30000L

  /** Seconds between the runs of services, if nothing else is configured. */
  val EverySeconds = 60L

  /**
   * Starts services of a table, which run until they are stopped or the application ends. Those started before are
   * replaced.
   *
   * @param names    None for all that apply to the table
   * @param settings read again for each run
   * @throws MerganserException CALL_ARGUMENT_INVALID, COMPACTION_OF_COPY_ON_WRITE, and what the settings and
   *                            [[ClusteringService.check]] throw
   */
  def start(
      session: SparkSession,
      table: OpenTable,
      names: Option[Seq[String]],
      everySeconds: Option[Long],
      settings: OpenTable => WriteConfig
  ): Seq[ServiceStatus] = {
    val now      = settings(table)
    val services = names.fold(TableService.all.filter(s => s.isDefault && s.appliesTo(table)))(_.map(named(_, table)))
    val every    = everySeconds.getOrElse(EverySeconds)
    if (every < 1) throw invalid("interval_seconds", every.toString, "1 or more")
    if (services.isEmpty) throw invalid("services", "", TableService.all.mkString(", "))
    services.foreach(_.check(table, now))
    val job = ServiceJob(session, settings, plans = true)
    onWorker(session, table)(_.serve(services, every, job))
    of(table)
  }

  /** Ends the services of a table after the work that writes have requested, and waits for that. */
  def stop(table: OpenTable): Boolean = {
    val found = Option(workers.remove(table.storage.identity))
    found.foreach(_.stop())
    found.isDefined
  }

  /** The services of a table in this application. */
  def of(table: OpenTable): Seq[ServiceStatus] =
    Option(workers.get(table.storage.identity)).toSeq.flatMap(_.statuses)

  /** Those of all tables. */
  def all: Seq[ServiceStatus] = workers.values.asScala.toSeq.flatMap(_.statuses).sortBy(_.path)

  /** Of the services that follow a write, those that it leaves to the background. */
  private[service] def taken(table: OpenTable, settings: WriteConfig): Seq[TableService] = {
    val worker = Option(workers.get(table.storage.identity))
    TableService.all.filter(s =>
      s.isAsync(settings) || worker.exists(_.serves(s)) && s.follows(table, settings))
  }

  /** After a write: requests a run of services. */
  private[service] def request(scope: ServiceScope, services: Seq[TableService]): Unit =
    if (services.nonEmpty)
      onWorker(scope.session, scope.table)(
        _.request(services, ServiceJob(scope.session, _ => scope.settings, plans = false)))

  /** Sentences about the services of a table whose last run failed. */
  private[service] def failures(table: OpenTable): Seq[String] = of(table).filter(_.failures > 0).map { s =>
    s"The ${s.service} in the background failed (${s.failures} in a row): ${s.lastError.getOrElse("")} It is tried " +
      "again; CALL show_services shows it."
  }

  /** @param use false if the worker has been stopped meanwhile */
  private def onWorker(session: SparkSession, table: OpenTable)(use: TableWorker => Boolean): Unit = {
    val context = session.sparkContext
    watch(context)
    def worker = workers.compute(table.storage.identity,
      (_, found) =>
        if (found != null && (found.context eq context)) found else new TableWorker(table.storage, context)(forget))
    var used = worker
    while (!use(used)) {
      workers.remove(table.storage.identity, used)
      used = worker
    }
  }

  /** A table that is written to again gets a new worker. */
  private def forget(worker: TableWorker): Unit = { workers.remove(worker.storage.identity, worker); () }

  private def watch(context: SparkContext): Unit = synchronized {
    if (!watched.exists(_ eq context)) {
      watched = Some(context)
      context.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = endAll(context)
      })
    }
  }

  private def endAll(context: SparkContext): Unit = {
    val deadline = System.nanoTime() + EndMs * 1000000L
    workers.asScala.toSeq.filter(_._2.context eq context).foreach { case (identity, worker) =>
      worker.end(math.max(1L, NANOSECONDS.toMillis(deadline - System.nanoTime())))
      workers.remove(identity, worker)
    }
  }

  private def named(name: String, table: OpenTable): TableService = {
    val service = TableService.all.find(_.name.equalsIgnoreCase(name.trim))
      .getOrElse(throw invalid("services", name, TableService.all.mkString(", ")))
    if (!service.appliesTo(table)) throw MerganserException("COMPACTION_OF_COPY_ON_WRITE", "table" -> table.config.name)
    service
  }

  private def invalid(argument: String, value: String, allowed: String): MerganserException =
    MerganserException("CALL_ARGUMENT_INVALID", "procedure" -> "start_services", "argument" -> argument,
      "value" -> value, "allowed" -> allowed)
}
