package io.merganser.table.log

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.merganser.table.base.{BaseFileReader, MetaColumns}
import io.merganser.table.config.TableConfig
import io.merganser.table.slice.{FileSlice, TableView}
import io.merganser.table.timeline.Timeline
import io.merganser.table.{Rows, Storage}
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import java.io.File
import java.time.{LocalDate, LocalDateTime, ZoneOffset}
import java.util.Base64
import scala.collection.JavaConverters._
import scala.collection.mutable

/** Tables that the reference wrote, read from their bytes: base files and log blocks under a merge of a few lines. */
class GoldenTablesSuite extends AnyFunSuite {
  private val folder = new File(sys.props("merganser.root"), "tests/golden")
  private val conf   = new Configuration()

  private val tables = Option(folder.list).toSeq.flatten.filter(new File(folder, _).isDirectory).sorted

  test("there are golden tables of every kind") {
    assert(tables.count(_.startsWith("mor")) >= 8 && tables.count(_.startsWith("cow")) >= 4)
  }

  tables.foreach { table =>
    test(s"$table: base files and log blocks hold what the reference reads from them") {
      val golden = new Golden(table)
      assert(golden.read(golden.view.slices, golden.columns) == golden.expected("rows", golden.columns))
    }
  }

  tables.filter(_.startsWith("mor")).foreach { table =>
    test(s"$table: base files alone hold what the reference reads without merging") {
      val golden  = new Golden(table)
      val suffix  = if (golden.json.has("rows_ro")) "_ro" else ""
      val columns = if (golden.json.has("columns_ro")) golden.columnsOf("columns_ro") else golden.columns
      assert(golden.read(golden.view.readOptimizedSlices.map(_.copy(logs = Nil)), columns) == golden.expected(s"rows$suffix", columns))
    }
  }

  private final class Golden(table: String) {
    val json: JsonNode   = new ObjectMapper().readTree(new File(folder, s"$table/expected.json"))
    private val storage  = Storage(new File(folder, s"$table/table").toURI.toString, conf)
    private val config   = TableConfig.load(storage)
    private val timeline = Timeline.load(storage, config)
    val view             = new TableView(storage, config, timeline)
    val columns          = columnsOf("columns")

    /** The reference reads a partition column of a formatted timestamp as the partition's text. */
    private val unread = if (table == "cow_timestamp_partition") Set("ts") else Set.empty[String]

    def columnsOf(name: String): StructType = StructType(json.get(name).elements.asScala.toSeq.map { column =>
      StructField(column.get(0).asText, CatalystSqlParser.parseDataType(column.get(1).asText))
    })

    def expected(name: String, columns: StructType): Seq[Seq[Any]] = sorted(
      json.get(name).elements.asScala.toSeq.map { row =>
        columns.fields.indices.filterNot(i => unread(columns(i).name)).map(i => value(row.get(i), columns(i).dataType))
      }
    )

    def read(slices: Seq[FileSlice], columns: StructType): Seq[Seq[Any]] =
      sorted(slices.flatMap(new Slice(_, columns).rows))

    private def sorted(rows: Seq[Seq[Any]]): Seq[Seq[Any]] = rows.sortBy(_.toString)

    private final class Slice(slice: FileSlice, columns: StructType) {
      private val schema    = MetaColumns.before(columns)
      private val ordering  = config.orderingFields.map(name => schema.fieldNames.indexOf(name))
      private val fields    = StructType(ordering.map(schema(_)))
      private val isDeleted = schema.fieldNames.indexOf("_hoodie_is_deleted")
      private val byTime    = ordering.nonEmpty && json.at("/table/merge_mode").asText != "COMMIT_TIME_ORDERING"

      /** By key: a row, or None with the ordering values of its delete. */
      private val merged = mutable.LinkedHashMap.empty[String, (Option[Seq[Any]], Seq[Any])]

      private def put(key: String, row: Option[Seq[Any]], order: Seq[Any]): Unit = {
        val wins = merged.get(key).forall { case (_, stored) =>
          !byTime || order == null || stored == null || compare(order, stored) >= 0
        }
        if (wins) merged.put(key, (row, order))
      }

      private def compare(a: Seq[Any], b: Seq[Any]): Int = a.zip(b).map {
        case (null, null)                       => 0
        case (null, _)                          => -1
        case (_, null)                          => 1
        case (x: Comparable[Any @unchecked], y) => x.compareTo(y)
        case (x, y)                             => fail(s"$x and $y")
      }.find(_ != 0).getOrElse(0)

      private def add(row: Seq[Any]): Unit = {
        val deleted = isDeleted >= 0 && row(isDeleted) == true
        put(row(2).toString, if (deleted) None else Some(row), ordering.map(row))
      }

      def rows: Seq[Seq[Any]] = {
        slice.base.foreach { base =>
          val reader = new BaseFileReader(conf, storage.path(base.path), base.sizeBytes, schema)
          try reader.rows().map(Rows.plain(_, schema)).foreach(add)
          finally reader.close()
        }
        scan()
        merged.values.flatMap(_._1).map { row =>
          schema.fields.indices.drop(5).filterNot(i => unread(schema(i).name)).map(row)
        }.toSeq
      }

      private def scan(): Unit = {
        val scanner = new LogScanner(storage, config.version, fields, timeline.isCompleted, "99999999999999999", _ => false)
        scanner.scan(slice.logs, schema,
          new LogSink {
            override def row(row: InternalRow, provided: Array[Boolean]): Unit = {
              val plain = Rows.plain(row, schema)
              if (provided == null) add(plain)
              else merged.get(plain(2).toString).flatMap(_._1).foreach { stored =>
                add(schema.fields.indices.map(i => if (provided(i)) plain(i) else stored(i)))
              }
            }
            override def delete(key: UTF8String, partitionPath: UTF8String, order: Array[Any]): Unit =
              put(key.toString, None,
                if (order == null) null
                else order.toSeq.map {
                  case d: Decimal => d.toJavaBigDecimal
                  case other      => other
                })
          })
        ()
      }
    }
  }

  /** A value of `expected.json` as [[Rows.plain]] has it. */
  private def value(node: JsonNode, dataType: DataType): Any =
    if (node == null || node.isNull) null
    else dataType match {
      case BooleanType    => node.asBoolean
      case ByteType       => node.asInt.toByte
      case ShortType      => node.asInt.toShort
      case IntegerType    => node.asInt
      case LongType       => node.asLong
      case FloatType      => java.lang.Float.floatToIntBits(if (node.isTextual) node.asText.toFloat else node.asDouble.toFloat)
      case DoubleType     => java.lang.Double.doubleToLongBits(if (node.isTextual) node.asText.toDouble else node.asDouble)
      case d: DecimalType => new java.math.BigDecimal(node.asText).setScale(d.scale)
      case BinaryType     => Base64.getDecoder.decode(node.asText).toSeq
      case DateType       => LocalDate.parse(node.asText).toEpochDay.toInt
      case TimestampType | TimestampNTZType =>
        val time = LocalDateTime.parse(node.asText)
        time.toEpochSecond(ZoneOffset.UTC) * 1000000L + time.getNano / 1000
      case a: ArrayType  => node.elements.asScala.map(value(_, a.elementType)).toList
      case s: StructType => s.fields.toSeq.map(field => value(node.get(field.name), field.dataType))
      case m: MapType =>
        node.elements.asScala.map(pair => value(pair.get(0), m.keyType) -> value(pair.get(1), m.valueType)).toMap
      case _ => node.asText
    }
}
