package io.merganser.table.timeline

import java.io.FileNotFoundException
import java.util.concurrent.ConcurrentHashMap

import io.merganser.merge.MerganserException
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.Storage

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

/**
 * The files of the instants of a timeline, as of one listing, and what was read of them.
 *
 * @param names    of the file of each instant and state
 * @param versions size and time of the files, by name
 */
private[timeline] final class TimelineFiles(
    storage: Storage,
    config: TableConfig,
    names: Map[(Instant, InstantState), String],
    versions: Map[String, (Long, Long)]
) {

  /** Plans, requests and cleans that were read, by the name of their file. */
  private val decoded = new ConcurrentHashMap[String, AnyRef]()

  def has(instant: Instant, state: InstantState): Boolean = names.contains((instant, state))

  /** The names of all files. */
  def all: Seq[String] = names.values.toSeq

  /** None if the instant has no file of that state. */
  def named(instant: Instant, state: InstantState): Option[String] = names.get((instant, state))

  def name(instant: Instant, state: InstantState): String =
    names.getOrElse((instant, state),
      throw new IllegalStateException(s"no ${state.name} file of $instant on the timeline of $storage"))

  /** Paths of the files of an instant in some states, in this order, of those that it has. */
  def paths(instant: Instant, states: Seq[InstantState]): Seq[String] =
    states.filter(has(instant, _)).map(state => path(name(instant, state)))

  /** Content of the file of an instant in one state. */
  def content(instant: Instant, state: InstantState): Array[Byte] = storage.read(path(name(instant, state)))

  /** Contents of the files of an instant, one for each state that has a file. */
  def contents(instant: Instant): Seq[(InstantState, Array[Byte])] =
    names.toSeq.collect { case ((`instant`, state), name) => state -> storage.read(path(name)) }

  /** The file of an instant in each of its states that has one. */
  def ofStates(instant: Instant): Seq[StateFile] =
    contents(instant).sortBy(_._1.rank).map { case (state, content) =>
      val file = name(instant, state)
      StateFile(InstantFile.parse(file).fold(instant.action)(_.action), state, content,
        versions.get(file).map { case (_, modified) => InstantTime.format(modified, config.timelineZone) })
    }

  /** Name, size and time of the completed file. */
  def versionOf(instant: Instant): Option[(String, (Long, Long))] =
    named(instant, InstantState.Completed).flatMap(name => versions.get(name).map(name -> _))

  /** Takes over what was read of files that have not changed. */
  def reuse(earlier: TimelineFiles): Unit = earlier.decoded.asScala.foreach { case (name, content) =>
    if (versions.contains(name) && versions.get(name) == earlier.versionNamed(name)) decoded.put(name, content)
  }

  private def versionNamed(name: String): Option[(Long, Long)] = versions.get(name)

  /** None if the file was removed since the timeline was listed, by a rollback of its instant. */
  def ifPresent[T](read: => T): Option[T] =
    try Some(read)
    catch {
      case e: MerganserException if e.getCause.isInstanceOf[FileNotFoundException] => None
    }

  /** @throws io.merganser.merge.MerganserException READ_TAKEN_BACK, TIMELINE_FILE_UNREADABLE */
  def decodeCompleted[T](instant: Instant)(decode: Array[Byte] => T): T = {
    val file = name(instant, InstantState.Completed)
    this.decode(file, archive.content(instant),
      if (instant.action.isWrite) takenBack(instant) else removed(file))(decode)
  }

  /**
   * The plan of a service, read once. Where rows are depends on it: a read that began before a restore took the plan
   * back cannot go on.
   *
   * @throws io.merganser.merge.MerganserException READ_TAKEN_BACK, TIMELINE_FILE_UNREADABLE
   */
  def decodePlan[T <: AnyRef](instant: Instant)(decode: Array[Byte] => T): T = {
    val file = name(instant, InstantState.Requested)
    once(file)(this.decode(file, archive.plan(instant),
        if (instant.isCompleted) removed(file) else takenBack(instant))(decode))
  }

  private def takenBack(instant: Instant): MerganserException =
    MerganserException("READ_TAKEN_BACK", "table" -> config.name, "instant" -> instant.requested)

  /** As [[decode]], for content that is read several times. */
  def decodeOnce[T <: AnyRef](name: String, archived: => Option[Array[Byte]] = None)(decode: Array[Byte] => T): T =
    once(name)(this.decode(name, archived)(decode))

  private def once[T <: AnyRef](name: String)(decode: => T): T =
    Option(decoded.get(name)).getOrElse {
      val content = decode
      decoded.put(name, content)
      content
    }.asInstanceOf[T]

  /**
   * @param archived the content of a file that is gone, if the history has it
   * @throws io.merganser.merge.MerganserException TIMELINE_FILE_UNREADABLE
   */
  def decode[T](name: String, archived: => Option[Array[Byte]] = None)(decode: Array[Byte] => T): T =
    this.decode(name, archived, removed(name))(decode)

  /** @param gone what to throw for a file that is gone, if the history does not have it */
  private def decode[T](name: String, archived: => Option[Array[Byte]], gone: => MerganserException)(
      decode: Array[Byte] => T
  ): T = {
    val bytes =
      try storage.read(path(name))
      catch { case e: FileNotFoundException => archived.getOrElse(throw gone.causedBy(e)) }
    try decode(bytes)
    catch { case NonFatal(e) => throw unreadable(name, String.valueOf(e.getMessage)).causedBy(e) }
  }

  private def removed(name: String): MerganserException = unreadable(name, "it was removed while the table was read")

  def unreadable(name: String, reason: String): MerganserException =
    MerganserException("TIMELINE_FILE_UNREADABLE", "file" -> storage.path(path(name)), "reason" -> reason)

  /** What was archived since the timeline was listed. */
  def archive: ArchivedTimeline = new ArchivedTimeline(storage, config)

  private def path(name: String): String = config.timelineFile(name)
}
