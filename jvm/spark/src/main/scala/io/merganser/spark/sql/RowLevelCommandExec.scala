package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.prune.SourceRanges
import io.merganser.spark.read.ScanCounts
import io.merganser.spark.service.AfterCommit
import io.merganser.spark.source.MerganserTable
import io.merganser.spark.write.{StatementResult, WriteResult}
import io.merganser.spark.write.place.PersistedRows
import io.merganser.spark.write.tag.KeyedSource
import io.merganser.table.schema.MetaColumns
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, V2CommandExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.merganser.{Partitions, SparkBridge}
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Plans statements that change our tables. */
final case class RowLevelCommandStrategy(session: SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case c: RowLevelCommandOverQuery => Seq(RowLevelCommandOverQueryExec(c, planLater(c.query)))
    case c: RowLevelCommandByKey     => Seq(RowLevelCommandByKeyExec(c, planLater(c.query)))
    case c: RowLevelCommandByJoin    => Seq(RowLevelCommandByJoinExec(c, planLater(c.query)))
    case l: LatestRows               => Seq(LatestRowsExec(l.keys, l.number, l.order, planLater(l.child)))
    case _                           => Nil
  }
}

/** Runs a statement; its result is one row, whose counts are also metrics. */
sealed trait RowLevelCommandExec extends V2CommandExec {

  def statement: RowLevelCommand

  def query: SparkPlan

  override def output: Seq[Attribute] = statement.output

  override def children: Seq[SparkPlan] = Seq(query)

  override lazy val metrics: Map[String, SQLMetric] =
    StatementResult.MetricNames.map(name => name -> SQLMetrics.createMetric(sparkContext, name.replace('_', ' '))).toMap

  override def simpleString(maxFields: Int): String =
    s"$nodeName ${statement.target.statement} ${statement.target}, $how, " +
      s"[${statement.clauses.map(_.text).mkString("; ")}]"

  protected def zone: Option[String] = Some(session.sessionState.conf.sessionLocalTimeZone)

  /** How the rows to change are found. */
  protected def how: String

  protected def target: CommandContext = statement.target

  protected def clauses(input: Seq[Attribute]): ClauseFunction =
    new ClauseFunction(statement.clauses, input, target.columns, statement.masks)

  protected def write: CommandWrite =
    CommandWrite(session, target.table.opened, target.settings, target.columns.data, target.columns.schema,
      statement.masks,
      target.readsItself)

  protected def changes(): Seq[InternalRow]

  /** An error about a changed key names the clauses that can have changed it. */
  override protected def run(): Seq[InternalRow] =
    try changes()
    catch {
      case e: MerganserException if e.condition == "KEY_COLUMN_CHANGED" && target.identifying.nonEmpty =>
        throw MerganserException("ASSIGNMENT_REFUSED", "clause" -> target.identifying.mkString("; "),
          "reason" -> e.getMessage).causedBy(e)
    }

  /** The statement's result. */
  protected def resultRow(result: WriteResult, read: Int, pruned: Int): Seq[InternalRow] = {
    target.name.foreach { name =>
      AfterCommit.quietly(result.instant, s"refresh cached data of $name")(SparkBridge.refreshCached(session, name))
    }
    val counts = StatementResult.values(result, read, pruned)
    CountMetrics.post(sparkContext, metrics, StatementResult.metrics(result, counts))
    val row: Seq[Any] = counts :+ UTF8String.fromString(result.instant)
    Seq(new GenericInternalRow(row.toArray[Any]))
  }

  /** @param values over the rows, bound */
  protected def projected(rows: RDD[InternalRow], values: Seq[Expression]): RDD[InternalRow] =
    Partitions.map(rows) { it =>
      val project = UnsafeProjection.create(values)
      it.map(project)
    }

  /** Writes the rows of a query; fails if several of them match a row that may be matched `once`. */
  protected def changed(rows: RDD[InternalRow], input: Seq[Attribute], once: Option[MatchedOnce]): WriteResult =
    once match {
      case None => write.run(ClauseRows.of(rows, clauses(input)))
      case Some(MatchedOnce(number, shown)) =>
        val bound = BindReferences.bindReference(number, input)
        val texts = shown.tail.map(e => e.sql -> BindReferences.bindReference(e, input))
        val check = new CardinalityCheck(target.toString,
          input.indexWhere(_.exprId == shown.head.references.head.exprId), -1, zone, texts)
        try write.run(ClauseRows.of(check.checked(rows, bound), clauses(input)))
        catch {
          case failure: Throwable if CardinalityCheck.isCause(failure) =>
            throw check.described(rows, bound).causedBy(failure)
        }
    }
}

/** Changes the rows of a query. */
final case class RowLevelCommandOverQueryExec(statement: RowLevelCommandOverQuery, query: SparkPlan)
    extends RowLevelCommandExec {

  override protected def how: String = "rows of a query"

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(query = newChildren.head)

  override protected def changes(): Seq[InternalRow] = {
    val result = changed(query.execute(), query.output, statement.once)
    val counts = target.table.scanCounts.getOrElse(new ScanCounts)
    resultRow(result, counts.read, counts.pruned)
  }
}

/** Matches each source row with the stored row of its key. */
final case class RowLevelCommandByKeyExec(statement: RowLevelCommandByKey, query: SparkPlan)
    extends RowLevelCommandExec {

  override protected def how: String = s"by record key, no join: ${statement.on.sql}"

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(query = newChildren.head)

  override protected def changes(): Seq[InternalRow] = {
    val source = query.output
    // The source's columns, the key values, then the columns that the lookup adds.
    val values = (statement.keys.values ++ statement.paths.values).map(BindReferences.bindReference(_, source))
    val rows =
      projected(query.execute(), source.map(a => BindReferences.bindReference(a: Expression, source)) ++ values)
    val keyed = KeyedSource(
      source = StructType(source.map(a => StructField(a.name, a.dataType))),
      keys = statement.keys.columns.zip(statement.keys.values.map(_.dataType)),
      paths = statement.paths.columns.zip(statement.paths.values.map(_.dataType)),
      table = target.table.opened.schema,
      config = target.settings.keyed(target.table.opened.config),
      stored = StructType(statement.stored.map(a => StructField(a.name, a.dataType)))
    )
    val input = keyed.attributes(source, statement.arrival) ++ statement.found ++ statement.stored
    val check =
      if (!target.settings.statement.failsOnDuplicates) None
      else
        Some(new CardinalityCheck(target.toString, keyed.keyOrdinal, keyed.pathOrdinal.getOrElse(-1), zone,
            source.map(a => a.sql -> BindReferences.bindReference(a: Expression, source))))
    val matches: Expression = Coalesce(Seq(And(statement.found.last, statement.on), Literal.FalseLiteral))
    val isMatch             = BindReferences.bindReference(matches, input)
    val latest = statement.choice.filter(_ => check.isEmpty).map { choice =>
      val bound   = BindReferences.bindReferences(matches +: choice.order, input)
      val ownKey  = BoundReference(keyed.keyOrdinal, StringType, nullable = false)
      val ownPath = keyed.pathOrdinal.map(BoundReference(_, StringType, nullable = false))
      val apart   = KeyedSource.apart(ownKey, BoundReference(keyed.arrivalOrdinal, LongType, nullable = false))
      SourceDeduplication(ownKey +: ownPath.toSeq :+ apart, keyed.arrivalOrdinal, bound)
    }
    val clause = new KeyedClauses(clauses(input), isMatch, keyed.arrivalOrdinal, latest, check)
    val result = write.run(rows, keyed, clause.run)
    resultRow(result, result.lookup.fold(0)(_.read), result.lookup.fold(0)(_.pruned))
  }
}

/** Joins source and target, planned once the source's values have shown which files can match. */
final case class RowLevelCommandByJoinExec(statement: RowLevelCommandByJoin, query: SparkPlan)
    extends RowLevelCommandExec {

  override protected def how: String =
    s"${statement.joinType.sql} join on ${statement.on.sql}, files chosen by " +
      s"${statement.pruning.columns.distinct.mkString(", ")} of the source"

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[SparkPlan]): SparkPlan =
    copy(query = newChildren.head)

  override protected def changes(): Seq[InternalRow] = {
    val source = query.output
    val values = statement.pruning.values.map(BindReferences.bindReference(_, source))
    val bytes  = sparkContext.longAccumulator
    // Evaluated once: the rows that prune files must be the rows that are joined.
    val measured = Partitions.map(query.execute())(_.map { row =>
      row match {
        case packed: UnsafeRow => bytes.add(packed.getSizeInBytes.toLong)
        case _                 => bytes.add(64L * source.length)
      }
      row
    })
    val persisted =
      new PersistedRows(measured, StructType(source.map(a => StructField(a.name, a.dataType, a.nullable))))
    val rows = persisted.rows
    try {
      val columns = statement.pruning.columns.zip(values).zipWithIndex.map { case ((name, value), i) =>
        (name, i, value.dataType)
      }
      val ranges = SourceRanges.of(projected(rows, values), columns) ++ keyRanges(rows, source)
      val counts = new ScanCounts
      val stored = statement.stored.plan.transform { case relation: DataSourceV2Relation =>
        relation.copy(table = relation.table.asInstanceOf[MerganserTable].withScanCounts(counts, Some(ranges)))
      }
      val known = Statistics(sizeInBytes = BigInt(math.max(1L, bytes.value)))
      val all = Join(stored, SparkBridge.rows(session, source, rows, known), statement.joinType, Some(statement.on),
        CardinalityCheck.hint(statement.once.map(_.storedRow)))
      val join   = LatestRows.of(statement.choice.common, statement.arrival, statement.choice.order, all)
      val plan   = SparkBridge.ofRows(session, join).queryExecution
      val result = changed(plan.toRdd, join.output, statement.once)
      resultRow(result, counts.read, counts.pruned)
    } finally persisted.close()
  }

  /** Base files store the range of their keys as strings, whose order need not be that of the key columns. */
  private def keyRanges(rows: RDD[InternalRow], source: Seq[Attribute]): Option[SourceRanges] =
    if (statement.keys.columns.isEmpty) None
    else {
      val keys  = statement.keys.values.map(BindReferences.bindReference(_, source))
      val named = statement.keys.columns.zip(keys.map(_.dataType))
      val keyed =
        KeyedSource(new StructType, named, Nil, target.table.opened.schema, target.table.opened.config, new StructType)
      val texts = keyed.rows(session, projected(rows, keys)).select(MetaColumns.RecordKey)
      Some(SourceRanges.of(texts.queryExecution.toRdd, Seq((MetaColumns.RecordKey, 0, StringType))))
    }
}
