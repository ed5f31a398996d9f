package org.apache.spark.sql.merganser

import org.apache.spark.TaskContext
import org.apache.spark.rdd.{RDD, ZippedPartitionsRDD2}

import scala.reflect.ClassTag

/**
 * Functions of whole partitions, as `RDD.mapPartitions`, `RDD.zipPartitions` and `RDD.collect` without Spark's closure
 * cleaner: it reads the bytes of the functions' classes, which takes milliseconds for each call, a seventh of a small
 * write.
 */
object Partitions {
  private val FewPartitions = 16

  def map[T, U: ClassTag](rows: RDD[T])(function: Iterator[T] => Iterator[U]): RDD[U] =
    rows.mapPartitionsInternal(function)

  def zip[A: ClassTag, B: ClassTag, U: ClassTag](left: RDD[A], right: RDD[B])(
      function: (Iterator[A], Iterator[B]) => Iterator[U]
  ): RDD[U] =
    new ZippedPartitionsRDD2(left.context, function, left, right)

  /**
   * Runs a job that applies the function. Returns the results of all partitions, in their order. After a failure its
   * tasks have ended.
   */
  def collect[T, U: ClassTag](rows: RDD[T])(function: Iterator[T] => Iterator[U]): Seq[U] = {
    val results = new Array[Array[U]](rows.getNumPartitions)
    // The cleaner reads the class of this function: this object's, which is small.
    try
      rows.context.runJob(rows, (_: TaskContext, it: Iterator[T]) => function(it).toArray, results.indices,
        (partition: Int, found: Array[U]) => results(partition) = found)
    catch {
      case failure: Throwable =>
        RunningTasks.end(rows.context, rows.id)
        throw failure
    }
    results.toSeq.flatten
  }

  /** As [[collect]], for results that are combined: by the driver alone if they are few, else by tasks first. */
  def reduce[T, U: ClassTag](rows: RDD[T])(function: Iterator[T] => Iterator[U])(combine: (U, U) => U): Option[U] =
    if (rows.getNumPartitions <= FewPartitions) collect(rows)(function).reduceOption(combine)
    else
      map(rows)(function).treeAggregate(Option.empty[U])((a, b) => Some(a.fold(b)(combine(_, b))),
        (a, b) => a.fold(b)(x => b.map(combine(x, _)).orElse(a)))
}
