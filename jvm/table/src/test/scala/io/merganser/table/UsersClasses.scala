package io.merganser.table

import io.merganser.merge.{BufferedRecord, RecordContext, RecordMerger, RecordType}
import io.merganser.table.avro.RecordPayload
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericRecord, IndexedRecord}

import java.util.{Optional, Properties, Map => JavaMap}
import scala.collection.JavaConverters._

/** Classes like those in users' jars. */
object UsersClasses {
  val Id = "61f81e26-7ebb-49da-af23-4d816bac7e03"

  /** Concatenates the values of `v`. */
  class Appending extends RecordMerger {
    override def getMergingStrategy: String = Id

    override def merge(
        older: BufferedRecord,
        newer: BufferedRecord,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord =
      if (older.isDelete || newer.isDelete) newer
      else context.mergeWithEngineRecord(newer,
        Map("v" -> joined(context.getValue(older, "v"), context.getValue(newer, "v"))).asJava)

    protected def joined(older: Any, newer: Any): String = s"$older$newer"
  }

  class Stating extends Appending {
    override def isAssociative: Boolean = true
  }

  /** Not associative, although it states so. */
  class StatingWrongly extends Stating {
    override protected def joined(older: Any, newer: Any): String = s"($older $newer)"
  }

  /** Keeps rows that are deleted. */
  class Refusing extends Appending {
    override def merge(
        older: BufferedRecord,
        newer: BufferedRecord,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord = if (newer.isDelete) older else super.merge(older, newer, context, props)
  }

  class ForAvro extends Appending {
    override def getRecordType: RecordType = RecordType.AVRO
  }

  class ForFlink extends Appending {
    override def getRecordType: RecordType = RecordType.FLINK
  }

  class WithArguments(val id: String) extends Appending

  class Failing extends Appending {
    throw new IllegalStateException("no connection")
  }

  val InitialiserRan = "io.merganser.table.initialiserRan"

  /** Neither a merger nor a payload; its static initialiser records that it ran. */
  object Initialised {
    System.setProperty(InitialiserRan, "true")
  }

  /** Returns every value it reads, in a new row. */
  class Rebuilding extends Appending {
    override def merge(
        older: BufferedRecord,
        newer: BufferedRecord,
        context: RecordContext,
        props: JavaMap[String, String]
    ): BufferedRecord =
      context.constructEngineRecord(newer,
        context.getSchema(newer).fieldNames.map(c => c -> context.getValue(newer, c)).toMap.asJava)
  }

  /**
   * Appends `v` of a row that is not late-arriving, and fails on "broken". In a batch the row with the greater `w` wins
   * unchanged. `v` = "gone" deletes; "never" is not inserted; an inserted value is marked.
   */
  class Words(val record: GenericRecord, val ordering: Comparable[_]) extends RecordPayload {

    private def text(from: IndexedRecord, column: String): String =
      Option(from.get(from.getSchema.getField(column).pos)).fold("")(_.toString)

    private def withText(v: String): IndexedRecord = {
      val copy = new GenericData.Record(record.asInstanceOf[GenericData.Record], true)
      copy.put("v", v)
      copy
    }

    override def preCombine(older: RecordPayload, properties: Properties): RecordPayload =
      if (text(older.asInstanceOf[Words].record, "w") > text(record, "w")) older else this

    override def combineAndGetUpdateValue(
        current: IndexedRecord,
        schema: Schema,
        properties: Properties
    ): Optional[IndexedRecord] = {
      val stored =
        current.get(schema.getField(properties.getProperty("hoodie.payload.ordering.field")).pos).asInstanceOf[Long]
      if (ordering.asInstanceOf[Long] < stored) Optional.of(current)
      else if (text(record, "v") == "broken") throw new IllegalStateException("broken words")
      else if (text(record, "v") == "gone") Optional.empty()
      else Optional.of(withText(text(current, "v") + text(record, "v")))
    }

    override def getInsertValue(schema: Schema, properties: Properties): Optional[IndexedRecord] =
      if (text(record, "v") == "never") Optional.empty() else Optional.of(withText("(" + text(record, "v") + ")"))
  }

  /** The newer record, unchanged. */
  class Unchanging(record: GenericRecord, ordering: Comparable[_]) extends Words(record, ordering) {
    override def combineAndGetUpdateValue(
        current: IndexedRecord,
        schema: Schema,
        properties: Properties
    ): Optional[IndexedRecord] =
      Optional.of(record)
  }

  /** A record of a schema of its own, with one column. */
  class Narrowing(record: GenericRecord, ordering: Comparable[_]) extends Words(record, ordering) {
    override def combineAndGetUpdateValue(
        current: IndexedRecord,
        schema: Schema,
        properties: Properties
    ): Optional[IndexedRecord] = {
      val narrow =
        new Schema.Parser().parse("""{"type": "record", "name": "r", "fields": [{"name": "int_", "type": "int"}]}""")
      val made = new GenericData.Record(narrow)
      made.put("int_", 1)
      Optional.of(made)
    }
  }

  class WithoutConstructor extends Words(null, null)
}
