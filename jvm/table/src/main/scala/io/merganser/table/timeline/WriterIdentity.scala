package io.merganser.table.timeline

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.SparkEnv

import scala.util.Try

/** Who wrote: keys in the extra metadata of our commits and cleans, which other engines ignore. */
private[table] object WriterIdentity {

  /** Name of the user of the Spark application. */
  val UserKey = "merganser.user"

  /** Id of the Spark application. */
  val ApplicationKey = "merganser.application"

  /** Version of Merganser. */
  val VersionKey = "merganser.version"

  /** Of this process; what is unknown is absent. */
  def now: Map[String, String] = Map(UserKey -> user, ApplicationKey -> application, VersionKey -> version).collect {
    case (key, Some(value)) if value.nonEmpty => key -> value
  }

  /** As Spark determines it. */
  private def user: Option[String] =
    Option(System.getenv("SPARK_USER")).orElse(Try(UserGroupInformation.getCurrentUser.getShortUserName).toOption)

  private def application: Option[String] = Option(SparkEnv.get).flatMap(_.conf.getOption("spark.app.id"))

  /** None where the classes are not in a jar. */
  private lazy val version: Option[String] =
    Option(getClass.getPackage).flatMap(p => Option(p.getImplementationVersion))

  /** Name and version of the engine that wrote extra metadata; None for other engines, which do not store theirs. */
  def engine(extra: Map[String, String]): Option[String] =
    extra.get(VersionKey).map(v => s"Merganser $v").orElse(extra.get(CommitMetadata.WriterKey).map(_ => "Merganser"))
}
