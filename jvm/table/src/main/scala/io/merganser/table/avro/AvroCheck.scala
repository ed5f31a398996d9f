package io.merganser.table.avro

import org.apache.avro.Schema

import java.io.EOFException
import scala.collection.JavaConverters._

/**
 * Checks bytes before Avro's own decoder reads them: that one allocates what a length field says, whether or not there
 * are as many bytes.
 */
private[table] object AvroCheck {

  private val MostLevels = 200

  /**
   * Passes over one value.
   *
   * @throws java.io.EOFException     if the value does not end with the input
   * @throws IllegalArgumentException if it is not of the schema
   */
  def skip(schema: Schema, in: AvroInput): Unit = skip(schema, in, 0)

  private def skip(schema: Schema, in: AvroInput, level: Int): Unit = {
    if (level > MostLevels) throw new IllegalArgumentException(s"its schema has more than $MostLevels levels")
    schema.getType match {
      case Schema.Type.RECORD => schema.getFields.asScala.foreach(field => skip(field.schema, in, level + 1))
      case Schema.Type.UNION  => skip(schema.getTypes.get(index(in, schema.getTypes.size)), in, level + 1)
      case Schema.Type.ARRAY  => items(in)(skip(schema.getElementType, in, level + 1))
      case Schema.Type.MAP =>
        items(in) {
          in.skip(in.readLength())
          skip(schema.getValueType, in, level + 1)
        }
      case Schema.Type.STRING | Schema.Type.BYTES => in.skip(in.readLength())
      case Schema.Type.FIXED                      => in.skip(schema.getFixedSize)
      case Schema.Type.ENUM                       => index(in, schema.getEnumSymbols.size); ()
      case Schema.Type.INT =>
        val value = in.readLong()
        if (value != value.toInt) throw new IllegalArgumentException(s"$value is no integer of 32 bits")
      case Schema.Type.LONG    => in.readLong(); ()
      case Schema.Type.FLOAT   => in.skip(4)
      case Schema.Type.DOUBLE  => in.skip(8)
      case Schema.Type.BOOLEAN => in.skip(1)
      case Schema.Type.NULL    => ()
    }
  }

  private def index(in: AvroInput, size: Int): Int = {
    val index = in.readLong()
    if (index < 0 || index >= size) throw new IllegalArgumentException(s"branch $index of $size does not exist")
    index.toInt
  }

  /** The items of an array or a map, each of at least one byte in the files of a timeline. */
  def items(in: AvroInput)(item: => Unit): Unit = {
    var count = in.readLong()
    while (count != 0) {
      if (count < 0) {
        in.readLong()
        count = -count
      }
      if (count < 0 || count > in.remaining) throw new EOFException(s"$count items do not fit ${in.remaining} bytes")
      var i = 0L
      while (i < count) {
        item
        i += 1
      }
      count = in.readLong()
    }
  }
}
