package org.apache.spark.sql.merganser

import org.apache.spark.SparkContext

/** Events that listeners get on a thread of their own. */
object ListenerEvents {

  /** Returns when all events so far have reached their listeners. */
  def await(context: SparkContext): Unit = context.listenerBus.waitUntilEmpty()
}
