package io.merganser.merge.columns

import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression}
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData, MapData, TypeUtils}
import org.apache.spark.sql.types.{DataType, MapType}

/**
 * The entries of two maps: those of `left` in their order, then those of `right` whose keys it lacks. Spark's own
 * function for it depends on a setting of the session.
 *
 * @param leftWins whether the value of an equal key is that of `left`
 */
private[columns] final case class MapUnion(left: Expression, right: Expression, leftWins: Boolean)
    extends BinaryExpression with CodegenFallback {

  override def dataType: DataType = left.dataType

  @transient private lazy val types = left.dataType.asInstanceOf[MapType]
  @transient private lazy val order = TypeUtils.getInterpretedOrdering(types.keyType)

  override protected def nullSafeEval(one: Any, other: Any): Any = {
    val maps  = Seq(one, other).map(_.asInstanceOf[MapData])
    val size  = maps.map(_.numElements()).sum
    val at    = new java.util.TreeMap[Any, Integer](order)
    val keys  = new Array[Any](size)
    val found = new Array[Any](size)
    for (map <- maps; i <- 0 until map.numElements()) {
      val key    = map.keyArray().get(i, types.keyType)
      val values = map.valueArray()
      val value  = if (values.isNullAt(i)) null else values.get(i, types.valueType)
      val known  = at.get(key)
      if (known == null) {
        keys(at.size) = key
        found(at.size) = value
        at.put(key, at.size)
      } else if (!leftWins) found(known) = value
    }
    new ArrayBasedMapData(new GenericArrayData(keys.take(at.size)), new GenericArrayData(found.take(at.size)))
  }

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): Expression =
    copy(left = newLeft, right = newRight)
}
