package io.merganser.table.commit

import io.merganser.merge.Json
import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, ThreadLocalRandom}

import io.merganser.table.file.FileNames
import io.merganser.table.properties.TableConfig
import io.merganser.table.storage.{LockFile, Storage}
import io.merganser.table.timeline.{Action, InstantFile}

/**
 * One run of a scheduled compaction or clustering. It is stored in the inflight file of that, which is written and
 * replaced under the table lock: a run that finds another claim there has lost the plan. The heartbeat shows whether
 * the run is alive.
 *
 * @param id          unique id of the run
 * @param number      second part of the write tokens of its files, which distinguishes them from those of other runs
 * @param process     id of the JVM that runs it
 * @param heartbeatMs milliseconds between its heartbeats
 */
private[table] final case class Claim(
    id: String,
    number: Int,
    process: String,
    host: String,
    pid: String,
    heartbeatMs: Long
) {

  /** Whether a data file was made by this run. */
  def made(name: String): Boolean = FileNames.stageOf(name).contains(number.toLong)

  def isOfThisProcess: Boolean = process == LockFile.Process

  /** False for all runs of other processes. */
  def isRunningHere: Boolean = Claim.running.contains(id)

  def content: Array[Byte] = {
    val node = Json.createObjectNode()
    node.put("owner", "merganser").put("id", id).put("number", number).put("process", process)
    node.put("host", host).put("pid", pid).put("heartbeatMs", heartbeatMs)
    node.toString.getBytes(UTF_8)
  }
}

private[table] object Claim {

  private val running = ConcurrentHashMap.newKeySet[String]()

  /** Starts a run of this process, which counts as running until [[end]]. */
  def begin(heartbeatMs: Long): Claim = {
    val claim = Claim(UUID.randomUUID().toString, ThreadLocalRandom.current.nextInt(1, Int.MaxValue), LockFile.Process,
      LockFile.Host,
      LockFile.Pid, heartbeatMs)
    running.add(claim.id)
    claim
  }

  def end(claim: Claim): Unit = { running.remove(claim.id); () }

  /**
   * The claim on a compaction, log compaction or clustering; None if it is not running or another engine runs it.
   *
   * @param action in the names of its pending files
   */
  def of(storage: Storage, config: TableConfig, instant: String, action: Action = Action.Compaction): Option[Claim] =
    try parse(storage.readUnverified(file(config, instant, action)))
    catch { case _: FileNotFoundException => None }

  def file(config: TableConfig, instant: String, action: Action = Action.Compaction): String =
    config.timelineFile(InstantFile.inflight(instant, action))

  private def parse(content: Array[Byte]): Option[Claim] =
    try
      Option(Json.readTree(content)).filter(_.path("owner").asText == "merganser").map { node =>
        Claim(node.path("id").asText, node.path("number").asInt, node.path("process").asText, node.path("host").asText,
          node.path("pid").asText, node.path("heartbeatMs").asLong)
      }
    catch { case _: IOException => None }
}
