package io.merganser.table.storage

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream, ObjectOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Arrays, LinkedHashMap}

import org.apache.hadoop.conf.Configuration

import scala.collection.JavaConverters._

/**
 * A Hadoop configuration for Java serialization: its entries, without the files that they come from.
 *
 * Every closure with a table contains it, of more than a thousand entries: it is written once, and a process reads each
 * distinct one once. Tasks share what is read, so nobody may change it.
 */
private[storage] final class SerializableConf(@transient private[this] var known: Configuration) extends Serializable {

  private[this] var written: Array[Byte] = _

  def value: Configuration = synchronized {
    if (known == null) known = SerializableConf.read(written)
    known
  }

  private def writeObject(out: ObjectOutputStream): Unit = {
    synchronized { if (written == null) written = SerializableConf.write(known) }
    out.defaultWriteObject()
  }
}

private object SerializableConf {

  /** Configurations that a process keeps: usually there is one for each of its sessions. */
  private val Kept = 16

  private val known = new LinkedHashMap[Content, Configuration](Kept, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[Content, Configuration]): Boolean = size > Kept
  }

  private def read(written: Array[Byte]): Configuration = known.synchronized {
    known.computeIfAbsent(new Content(written), content => decoded(content.bytes))
  }

  private def decoded(bytes: Array[Byte]): Configuration = {
    val in   = new DataInputStream(new ByteArrayInputStream(bytes))
    val conf = new Configuration(false)
    (0 until in.readInt()).foreach(_ => conf.set(readText(in), readText(in)))
    conf
  }

  private def write(conf: Configuration): Array[Byte] = {
    val bytes   = new ByteArrayOutputStream(1 << 16)
    val out     = new DataOutputStream(bytes)
    val entries = conf.asScala.toArray
    out.writeInt(entries.length)
    entries.foreach { entry => writeText(out, entry.getKey); writeText(out, entry.getValue) }
    bytes.toByteArray
  }

  private def writeText(out: DataOutputStream, text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    out.writeInt(bytes.length)
    out.write(bytes)
  }

  private def readText(in: DataInputStream): String = {
    val bytes = new Array[Byte](in.readInt())
    in.readFully(bytes)
    new String(bytes, UTF_8)
  }

  private final class Content(val bytes: Array[Byte]) {
    override val hashCode: Int = Arrays.hashCode(bytes)

    override def equals(other: Any): Boolean = other match {
      case that: Content => Arrays.equals(bytes, that.bytes)
      case _             => false
    }
  }
}
