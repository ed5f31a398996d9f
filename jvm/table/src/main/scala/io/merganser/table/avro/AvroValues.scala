// Hot path: one call per value.
package io.merganser.table.avro

import io.merganser.merge.MerganserException
import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData}
import org.apache.spark.sql.types._

import scala.collection.JavaConverters._

/** Readers of one Avro schema as one Catalyst type: a small object per field, created once. */
private[avro] object AvroValues {

  /**
   * The position of a value, for errors.
   *
   * @param isReusable true outside of arrays and maps, where one row object can be reused for every record
   * @param isRetyped  whether the table has versions of its columns, which allow the type changes of [[Retyping]]
   * @param isMillis   whether the table stores the column's timestamps in milliseconds
   */
  final case class Place(
      source: String,
      column: String,
      isReusable: Boolean,
      isRetyped: Boolean,
      isMillis: Boolean = false
  ) {
    def /(name: String): Place      = copy(column = if (column.isEmpty) name else s"$column.$name")
    def within(name: String): Place = (this / name).copy(isReusable = false)
  }

  abstract class ValueReader {

    /** The value as a Catalyst value; null for null. */
    def value(in: AvroInput): Any

    /** Reads the value into column `i` of the row. */
    def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.update(i, value(in))
  }

  /** Reads values of the schema as the requested type. */
  def reader(from: Schema, to: DataType, place: Place): ValueReader = from.getType match {
    case Schema.Type.UNION => union(from, to, place)
    case Schema.Type.NULL => new ValueReader {
        override def value(in: AvroInput): Any                               = null
        override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = row.setNullAt(i)
      }
    case _ =>
      (from.getType, to) match {
        case (Schema.Type.RECORD, s: StructType) => record(from, s, place, stopsEarly = false)
        case (Schema.Type.ARRAY, a: ArrayType) =>
          new ArrayReader(reader(from.getElementType, a.elementType, place.within("element")))
        case (Schema.Type.MAP, m: MapType) if m.keyType == StringType =>
          new MapReader(reader(from.getValueType, m.valueType, place.within("value")))
        case _ =>
          val retyped = if (place.isRetyped) Retyping.reader(from, to) else None
          retyped.orElse(AvroScalars.reader(from, to, place.isMillis)).getOrElse(throw changed(from, to, place))
      }
  }

  private def union(from: Schema, to: DataType, place: Place): ValueReader = {
    val branches  = from.getTypes.asScala.toArray
    val readers   = branches.map(reader(_, to, place))
    val nullIndex = branches.indexWhere(_.getType == Schema.Type.NULL)
    if (branches.length == 2 && nullIndex >= 0) new NullableReader(nullIndex, readers(1 - nullIndex))
    else new UnionReader(readers)
  }

  private final class NullableReader(nullIndex: Int, plain: ValueReader) extends ValueReader {
    override def value(in: AvroInput): Any = if (in.readInt() == nullIndex) null else plain.value(in)
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit =
      if (in.readInt() == nullIndex) row.setNullAt(i) else plain.readInto(in, row, i)
  }

  private final class UnionReader(branches: Array[ValueReader]) extends ValueReader {
    override def value(in: AvroInput): Any                               = branches(in.readInt()).value(in)
    override def readInto(in: AvroInput, row: InternalRow, i: Int): Unit = branches(in.readInt()).readInto(in, row, i)
  }

  /** @param stopsEarly true if nothing is read after the record: fields after the last requested one are not read */
  def record(from: Schema, to: StructType, place: Place, stopsEarly: Boolean): RecordReader = {
    val fields   = from.getFields.asScala.toArray
    val ordinals = fields.map(field => to.fieldNames.indexOf(field.name))
    val read     = if (stopsEarly) ordinals.lastIndexWhere(_ >= 0) + 1 else fields.length
    val steps = fields.take(read).zip(ordinals).map { case (field, i) =>
      if (i >= 0) {
        val at = (place / field.name).copy(isMillis = Milliseconds.areIn(to(i)))
        new FieldStep(reader(field.schema, to(i).dataType, at), i)
      } else new SkipStep(skipper(field.schema))
    }
    new RecordReader(steps.asInstanceOf[Array[Step]], to, place.isReusable)
  }

  private abstract class Step {
    def apply(in: AvroInput, row: InternalRow): Unit
  }

  private final class FieldStep(value: ValueReader, i: Int) extends Step {
    override def apply(in: AvroInput, row: InternalRow): Unit = value.readInto(in, row, i)
  }

  private final class SkipStep(skip: Skipper) extends Step {
    override def apply(in: AvroInput, row: InternalRow): Unit = skip(in)
  }

  final class RecordReader(steps: Array[Step], to: StructType, isReusable: Boolean) extends ValueReader {
    private[this] val reused = if (isReusable) new SpecificInternalRow(to) else null

    def readInto(in: AvroInput, row: InternalRow): Unit = {
      var i = 0
      while (i < steps.length) {
        steps(i)(in, row)
        i += 1
      }
    }

    override def value(in: AvroInput): Any = {
      val row = if (isReusable) reused else new SpecificInternalRow(to)
      readInto(in, row)
      row
    }
  }

  private final class ArrayReader(element: ValueReader) extends ValueReader {
    override def value(in: AvroInput): Any = {
      var elements = new Array[Any](blockCount(in))
      var n        = 0
      var more     = elements.length > 0
      while (more) {
        while (n < elements.length) {
          elements(n) = element.value(in)
          n += 1
        }
        val next = blockCount(in)
        more = next > 0
        if (more)
          elements = java.util.Arrays.copyOf(elements.asInstanceOf[Array[AnyRef]], n + next).asInstanceOf[Array[Any]]
      }
      new GenericArrayData(elements)
    }
  }

  private final class MapReader(element: ValueReader) extends ValueReader {
    override def value(in: AvroInput): Any = {
      var keys   = new Array[Any](blockCount(in))
      var values = new Array[Any](keys.length)
      var n      = 0
      var more   = keys.length > 0
      while (more) {
        while (n < keys.length) {
          keys(n) = in.readString()
          values(n) = element.value(in)
          n += 1
        }
        val next = blockCount(in)
        more = next > 0
        if (more) {
          keys = java.util.Arrays.copyOf(keys.asInstanceOf[Array[AnyRef]], n + next).asInstanceOf[Array[Any]]
          values = java.util.Arrays.copyOf(values.asInstanceOf[Array[AnyRef]], n + next).asInstanceOf[Array[Any]]
        }
      }
      new ArrayBasedMapData(new GenericArrayData(keys): ArrayData, new GenericArrayData(values): ArrayData)
    }
  }

  /** Elements of the next block of an array or map; a negative count is followed by the block's bytes. */
  private def blockCount(in: AvroInput): Int = {
    val count = in.readLong()
    if (count >= 0) count.toInt
    else {
      in.readLong()
      (-count).toInt
    }
  }

  abstract class Skipper {
    def apply(in: AvroInput): Unit
  }

  private def skipper(schema: Schema): Skipper = schema.getType match {
    case Schema.Type.NULL    => new Skipper { override def apply(in: AvroInput): Unit = () }
    case Schema.Type.BOOLEAN => new Skipper { override def apply(in: AvroInput): Unit = in.skip(1) }
    case Schema.Type.INT | Schema.Type.LONG | Schema.Type.ENUM => new Skipper {
        override def apply(in: AvroInput): Unit = { in.readLong(); () }
      }
    case Schema.Type.FLOAT  => new Skipper { override def apply(in: AvroInput): Unit = in.skip(4) }
    case Schema.Type.DOUBLE => new Skipper { override def apply(in: AvroInput): Unit = in.skip(8) }
    case Schema.Type.FIXED =>
      val size = schema.getFixedSize
      new Skipper { override def apply(in: AvroInput): Unit = in.skip(size) }
    case Schema.Type.STRING | Schema.Type.BYTES => new Skipper {
        override def apply(in: AvroInput): Unit = in.skip(in.readLength())
      }
    case Schema.Type.UNION =>
      val branches = schema.getTypes.asScala.map(skipper).toArray
      new Skipper { override def apply(in: AvroInput): Unit = branches(in.readInt())(in) }
    case Schema.Type.RECORD =>
      // Lazy, because a record that is not requested may contain itself.
      lazy val fields = schema.getFields.asScala.map(field => skipper(field.schema)).toArray
      new Skipper { override def apply(in: AvroInput): Unit = fields.foreach(_(in)) }
    case Schema.Type.ARRAY => skipBlocks(skipper(schema.getElementType), hasKeys = false)
    case Schema.Type.MAP   => skipBlocks(skipper(schema.getValueType), hasKeys = true)
  }

  private def skipBlocks(element: Skipper, hasKeys: Boolean): Skipper = new Skipper {
    override def apply(in: AvroInput): Unit = {
      var count = in.readLong()
      while (count != 0) {
        if (count < 0) in.skip(in.readLength())
        else {
          var i = 0L
          while (i < count) {
            if (hasKeys) in.skip(in.readLength())
            element(in)
            i += 1
          }
        }
        count = in.readLong()
      }
    }
  }

  private def changed(from: Schema, to: DataType, place: Place): MerganserException = MerganserException(
    "COLUMN_TYPE_CHANGED",
    "column" -> place.column,
    "file" -> place.source,
    "stored" -> from.toString,
    "requested" -> to.catalogString
  )
}
