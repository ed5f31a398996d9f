package io.merganser.spark.source

/**
 * The rule of a session that defers statements on our tables before Spark rewrites them. A session has none without our
 * extensions, and with Hive's metastore, where Spark leaves out rules of its kind.
 */
trait DefersStatements
