package io.merganser.merge

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.SparkThrowable

import scala.collection.JavaConverters._

/**
 * An error that the user can fix: the message names what failed, the value and the remedy.
 *
 * @param condition  stable name of the error, such as ORDERING_FIELD_MISSING; tests and programs match on it
 * @param sqlState   five-character SQLSTATE
 * @param parameters the values that fill the message's template
 */
final class MerganserException private (
    val condition: String,
    val sqlState: String,
    val parameters: Map[String, String],
    message: String,
    cause: Throwable
) extends RuntimeException(message, cause)
    with SparkThrowable {

  /** The condition, under Spark 4's name for it: code that sends errors to clients calls it. */
  def getCondition: String = condition

  override def getErrorClass: String = condition

  override def getSqlState: String = sqlState

  override def getMessageParameters: java.util.Map[String, String] = parameters.asJava

  def causedBy(cause: Throwable): MerganserException =
    new MerganserException(condition, sqlState, parameters, message, cause)

  /** The parameters as a JSON object of strings. */
  def parametersJson: String = Json.writeValueAsString(parameters.asJava)
}

object MerganserException {

  /** Each module brings its own templates; a module that is not on the class path has none. */
  private lazy val conditions: Map[String, JsonNode] = Seq("merge", "table", "spark").flatMap { module =>
    Option(getClass.getResource(s"/io/merganser/$module/conditions.json")).toSeq.flatMap { url =>
      Json.readTree(url).fields().asScala.map(e => e.getKey -> e.getValue)
    }
  }.toMap

  /** @throws IllegalStateException if no module declares the condition, or a parameter of its template is missing */
  def apply(condition: String, parameters: (String, Any)*): MerganserException = {
    val declared = conditions.getOrElse(condition, throw new IllegalStateException(s"no error condition '$condition'"))
    val values   = parameters.map { case (k, v) => k -> String.valueOf(v) }.toMap
    val text = "\\{(\\w+)\\}".r.replaceAllIn(
      declared.get("message").asText,
      m =>
        java.util.regex.Matcher.quoteReplacement(
          values.getOrElse(m.group(1), throw new IllegalStateException(s"condition '$condition' needs '${m.group(1)}'"))
        )
    )
    new MerganserException(condition, declared.get("sqlState").asText, values, s"[$condition] $text", null)
  }
}
