package io.merganser.spark.write

import io.merganser.table.options.Settings
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.merganser.SparkBridge

import java.util.{Collections, WeakHashMap}

/**
 * Sessions of a single statement each: with its options, and the views and settings of the caller's session, whose
 * other statements are unaffected.
 */
object StatementSession {

  private final class Own(val options: Map[String, String]) {
    @volatile var result: Option[WriteResult] = None
  }

  private val known = Collections.synchronizedMap(new WeakHashMap[SparkSession, Own])

  /**
   * A session for one statement.
   *
   * @param options of the statement's write; also settings of Spark itself
   * @throws io.merganser.merge.MerganserException what [[Settings.ofWrite]] throws
   */
  def of(session: SparkSession, options: Map[String, String]): SparkSession = {
    Settings.ofWrite(options, Map.empty)
    val own = SparkBridge.cloned(session)
    takeCatalog(session, own)
    options.foreach { case (key, value) => own.conf.set(key, value) }
    known.put(own, new Own(options))
    own
  }

  /** Spark's copy of a session begins in the default catalog. */
  private def takeCatalog(session: SparkSession, own: SparkSession): Unit = {
    val manager   = session.sessionState.catalogManager
    val namespace = manager.currentNamespace
    own.sessionState.catalogManager.setCurrentCatalog(manager.currentCatalog.name)
    if (!own.sessionState.catalogManager.currentNamespace.sameElements(namespace))
      own.sessionState.catalogManager.setCurrentNamespace(namespace)
  }

  /** Options of the statements of a session; none in sessions of several statements. */
  def options(session: SparkSession): Map[String, String] =
    Option(known.get(session)).fold(Map.empty[String, String])(_.options)

  private[spark] def keep(session: SparkSession, result: WriteResult): Unit =
    Option(known.get(session)).foreach(_.result = Some(result))

  /** What the session's MERGE, UPDATE or DELETE wrote. */
  def result(session: SparkSession): Option[WriteResult] = Option(known.get(session)).flatMap(_.result)
}
