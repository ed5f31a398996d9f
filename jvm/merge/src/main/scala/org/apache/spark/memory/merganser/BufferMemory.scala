package org.apache.spark.memory.merganser

import org.apache.spark.TaskContext
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/**
 * Memory of a task that its owner fills with objects of its own. It is reserved from Spark's memory manager, so that
 * tasks that run at the same time share what the process has.
 */
final class BufferMemory private (manager: TaskMemoryManager) extends MemoryConsumer(manager, MemoryMode.ON_HEAP) {

  private[this] var reserved = 0L

  /** Whether so many bytes are reserved, or can be. */
  def holds(bytes: Long): Boolean = bytes <= reserved || {
    val wanted = math.max(BufferMemory.Step, bytes - reserved)
    reserved += acquireMemory(wanted)
    bytes <= reserved
  }

  /** Releases what is reserved beyond so many bytes. */
  def keep(bytes: Long): Unit = if (reserved > bytes) {
    freeMemory(reserved - bytes)
    reserved = bytes
  }

  def release(): Unit = keep(0)

  /**
   * What the task's operators need comes first, since they fail without it: the reservation is given up, although the
   * objects stay until their owner is done. Owners of other objects spill by themselves when they get no more.
   */
  override def spill(size: Long, trigger: MemoryConsumer): Long = trigger match {
    case _: BufferMemory => 0L
    case _ =>
      val before = reserved
      keep(math.max(0L, reserved - size))
      before - reserved
  }
}

object BufferMemory {

  private val Step = 4L << 20

  /** Of the current task, at whose end it is released; None outside of tasks. */
  def ofTask(): Option[BufferMemory] = Option(TaskContext.get()).map { task =>
    val memory = new BufferMemory(task.taskMemoryManager())
    task.addTaskCompletionListener[Unit](_ => memory.release())
    memory
  }
}
