package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.snapshot.OpenTable
import io.merganser.table.options.NearestName
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.types._

import scala.annotation.unused
import scala.collection.JavaConverters._

/**
 * A parameter of a procedure.
 *
 * @param dataType of its argument: STRING, INT, BIGINT, BOOLEAN or TIMESTAMP; [[Parameter.OptionsType]] takes
 *                 'k=v,k=v' as well
 * @param meaning  in a few words
 * @param default  value where the argument is absent
 * @param limitsRows whether it limits the rows of the result
 * @param takesFrame whether a program may give a frame instead
 */
final case class Parameter(
    name: String,
    dataType: DataType,
    meaning: String,
    isRequired: Boolean = false,
    default: Option[String] = None,
    limitsRows: Boolean = false,
    takesFrame: Boolean = false
)

object Parameter {

  /** Settings by name: a string 'key=value,key=value', or a map. */
  val OptionsType: DataType = MapType(StringType, StringType)

  val table: Parameter = Parameter("table", StringType, "name of the table")
  val path: Parameter  = Parameter("path", StringType, "path of the table, instead of its name")

  def limit(rows: Int): Parameter =
    Parameter("limit", IntegerType, "maximum number of rows to return", default = Some(rows.toString),
      limitsRows = true)

  val names: Parameter = Parameter("names", Parameter.OptionsType,
    "names of tables and columns as SQL, by the words that stand for them in the statement; variables in them are " +
      "not substituted")

  val filter: Parameter = Parameter("filter", StringType, "condition on the result's columns that filters its rows")

  /** One that is false unless it is given. */
  def flag(name: String, meaning: String): Parameter = Parameter(name, BooleanType, meaning, default = Some("false"))

  /** @param result what a dry run returns, as the rest of the sentence */
  def dryRun(result: String): Parameter = flag("dry_run", s"true: nothing is changed$result")

  /** `dry_run` of Hudi's repairs. */
  val dryRunUnlessFalse: Parameter = Parameter("dry_run", BooleanType,
    "false: the table is changed; otherwise the result shows what would change", default = Some("true"))

  val options: Parameter = Parameter("options", OptionsType, "settings of this call, as 'key=value,key=value' or a map")
}

/**
 * A procedure that SQL calls by name.
 *
 * @tparam T values of which its rows are made
 */
trait Procedure[T] extends ResultColumnTypes {
  def name: String

  /** In the order of positional arguments. */
  def parameters: Seq[Parameter]

  /** Of its result. */
  def columns: ResultColumns[T]

  final def result: StructType = columns.schema

  /** Of these columns, with whole numbers, the SQL tab shows the sums beside the call. */
  def measures: Seq[String] = Nil

  override def toString: String = name

  /** Of one that is a service of a table. */
  def preview: Option[Preview] = None

  /** A call of it, as Spark's interface shows it. */
  def title(@unused session: SparkSession, @unused arguments: Arguments): String = s"call $name"

  /**
   * The rows of a call: those that its `filter` takes, and no more than its `limit`.
   *
   * @param measured all rows
   */
  final def call(
      session: SparkSession,
      arguments: Arguments,
      measured: Iterator[Row] => Iterator[Row] = identity
  ): Iterator[Row] = {
    val limit = arguments.limit.filter(_ => parameters.exists(_.limitsRows)) // before anything is done
    val rows  = measured(values(session, arguments).map(columns.row))
    val taken = arguments.filter.fold(rows)(condition =>
      session.createDataFrame(rows.toList.asJava, result).where(condition).collect().iterator)
    limit.fold(taken)(taken.take)
  }

  /** Runs the procedure; the caller applies `filter` and `limit` to its rows, and takes no more than it needs. */
  protected def values(session: SparkSession, arguments: Arguments): Iterator[T] = run(session, arguments).iterator

  protected def run(session: SparkSession, arguments: Arguments): Seq[T]
}

/** A procedure of one table, which `table` or `path` names. */
trait TableProcedure[T] extends Procedure[T] {

  override def title(session: SparkSession, arguments: Arguments): String =
    s"call $name of ${arguments.table(session).config.name}"

  override protected def run(session: SparkSession, arguments: Arguments): Seq[T] =
    run(session, arguments.table(session), arguments)

  protected def run(session: SparkSession, table: OpenTable, arguments: Arguments): Seq[T]
}

/** A procedure of one table that reads what its rows show when they are taken. */
trait LazyTableProcedure[T] extends Procedure[T] {

  override protected def values(session: SparkSession, arguments: Arguments): Iterator[T] =
    values(arguments.table(session), arguments)

  override protected def run(session: SparkSession, arguments: Arguments): Seq[T] = values(session, arguments).toList

  protected def values(table: OpenTable, arguments: Arguments): Iterator[T]

  /** How many instants or partitions the rows are made of at most, as far as that is known; each has a row or more. */
  protected def most(arguments: Arguments): Int =
    if (arguments.filter.isDefined) Int.MaxValue else arguments.limit.getOrElse(Int.MaxValue)
}

object Procedure {

  /**
   * The error of a name that no procedure has, with the one that was probably meant.
   *
   * @param names of the procedures
   */
  private[procedures] def unknown(name: String, names: Seq[String]): MerganserException = {
    val nearest = NearestName.of(name.split('.').last, names, within = 3).fold("")(meant => s"Did you mean '$meant'? ")
    val remedy  = s"${nearest}There are: ${names.mkString(", ")}."
    MerganserException("PROCEDURE_UNKNOWN", "procedure" -> name, "remedy" -> remedy)
  }

  /** The name of a measure as Spark's interface shows it. */
  private[spark] def shown(measure: String): String =
    (if (CommitColumns.counts.names.contains(measure)) "rows: " else "") + measure.replace('_', ' ')
}
