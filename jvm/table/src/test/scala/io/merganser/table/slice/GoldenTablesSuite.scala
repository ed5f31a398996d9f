package io.merganser.table.slice

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import io.merganser.table.{HadoopDefaults, Rows}
import io.merganser.table.avro.AvroSchemas
import io.merganser.table.properties.TableConfig
import io.merganser.table.rule.StoredRule
import io.merganser.table.schema.{DroppedColumns, MetaColumns}
import io.merganser.table.storage.Storage
import io.merganser.table.timeline.Timeline
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import java.io.File
import java.time.{LocalDate, LocalDateTime, ZoneOffset}
import java.util.Base64
import scala.collection.JavaConverters._

/** Tables that the reference wrote, read without a Spark session by the same timeline, slices and merge as queries. */
class GoldenTablesSuite extends AnyFunSuite {
  private val folder = new File(sys.props("merganser.root"), "tests/golden")
  private val conf   = HadoopDefaults.shared

  private val tables = Option(folder.list).toSeq.flatten.filter(new File(folder, _).isDirectory).sorted

  test("the golden tables cover every kind") {
    assert(tables.count(_.startsWith("mor")) >= 8 && tables.count(_.startsWith("cow")) >= 4)
  }

  tables.foreach { name =>
    test(s"$name: a snapshot holds the rows, keys, partition paths and commit times that the reference reads") {
      val golden = new Golden(name)
      assert(golden.schema.fields.map(f => f.name -> f.dataType).toSeq == golden.columns.fields.map(f =>
        f.name -> f.dataType).toSeq)
      assert(golden.rows(golden.view.slices)(_.rows(_)) == golden.expected(""))
      assert(golden.batches(golden.view.slices.map(SlicePart(_))) == golden.expected(""))
      assert(golden.batches(golden.view.slices.flatMap(golden.parts)) == golden.expected(""))
    }

    test(s"$name: a column requested alone has the values that the reference reads") {
      val golden = new Golden(name)
      golden.columns.indices.foreach { i =>
        assert(golden.columnOf(golden.view.slices, i) == golden.expected("").map(_(i)).sortBy(String.valueOf),
          golden.columns(i).name)
      }
    }

    test(s"$name: base files alone have the rows that the reference reads without merging") {
      val golden = new Golden(name)
      assert(golden.rows(golden.view.readOptimizedSlices)(_.baseRows(_)) == golden.expected("_ro"))
    }
  }

  private final class Golden(name: String) {
    private val json     = new ObjectMapper().readTree(new File(folder, s"$name/expected.json"))
    private val storage  = Storage(new File(folder, s"$name/table").toURI.toString, conf)
    private val config   = TableConfig.load(storage)
    private val timeline = Timeline.load(storage, config)

    val schema: StructType =
      DroppedColumns.added(config,
        MetaColumns.without(AvroSchemas.toSpark(AvroSchemas.parse(timeline.tableSchemaJson.get))))
    val view = new TableView(storage, config, timeline)

    /**
     * Under the TIMESTAMP key generator the reference gives the partition column the type of its folder's name, string;
     * the files hold numbers.
     */
    private val textInReference =
      if (config.keyGeneratorType.startsWith("TIMESTAMP")) config.partitionFields.toSet else Set.empty[String]

    val columns: StructType = StructType(list("columns").map { column =>
      val dataType = CatalystSqlParser.parseDataType(column.get(1).asText)
      val name     = column.get(0).asText
      StructField(name, if (textInReference(name)) schema(name).dataType else dataType)
    })

    private val meta       = list("meta_columns").map(_.asText)
    private val projection = StructType(columns ++ meta.map(MetaColumns.schema(_)))

    private val rule = StoredRule.of(config, Nil)

    private def reader(projection: StructType) =
      TableSnapshot(storage, config, rule, schema, LogVisibility(timeline), rowKey).reader(projection)

    /** The tables that store no keys have one key column. */
    private def rowKey: Option[RowKey] = if (config.storesKeys) None
    else {
      val field = schema(config.recordKeyFields.head)
      Some(RowKey(Cast(AttributeReference(field.name, field.dataType)(), StringType), StructType(Seq(field))))
    }

    def rows(slices: Seq[FileSlice])(read: (SliceReader, FileSlice) => SliceRows): Seq[Seq[Any]] = sorted {
      slices.flatMap { slice =>
        val rows = read(reader(projection), slice)
        try rows.map(Rows.plain(_, projection)).toVector
        finally rows.close()
      }
    }

    /** As tasks read a large file, although each of these has one row group. */
    def parts(slice: FileSlice): Seq[SlicePart] = {
      val size = slice.base.fold(1L)(_.sizeBytes)
      (0L until size by (size / 3 + 1)).map(SlicePart(slice, _, size / 3 + 1))
    }

    def batches(parts: Seq[SlicePart]): Seq[Seq[Any]] = sorted(parts.flatMap(batches(_, projection)))

    def columnOf(slices: Seq[FileSlice], i: Int): Seq[Any] =
      slices.map(SlicePart(_)).flatMap(batches(_, StructType(Seq(columns(i))))).map(_.head).sortBy(String.valueOf)

    private def batches(part: SlicePart, projection: StructType): Seq[Seq[Any]] = {
      val batches = new SliceBatchReader(reader(projection).input).batches(part)
      try batches.flatMap(_.rowIterator.asScala.map(Rows.plain(_, projection))).toVector
      finally batches.close()
    }

    /** @param suffix of the names under which a read stands that differs from the snapshot */
    def expected(suffix: String): Seq[Seq[Any]] = sorted {
      def of(name: String) = list(if (json.has(name + suffix)) name + suffix else name)
      of("rows").zip(of("meta_rows")).map { case (row, meta) =>
        (row.elements.asScala ++ meta.elements.asScala).toSeq.zip(projection.map(_.dataType)).map { case (node, t) =>
          value(node, t)
        }
      }
    }

    private def sorted(rows: Seq[Seq[Any]]): Seq[Seq[Any]] =
      rows.sortBy(row => (row.takeRight(meta.size).toString, row.toString))

    private def list(name: String): Seq[JsonNode] = json.get(name).elements.asScala.toVector
  }

  /** A value of `expected.json` as [[Rows.plain]] has it. */
  private def value(node: JsonNode, dataType: DataType): Any =
    if (node == null || node.isNull) null
    else dataType match {
      case BooleanType => node.asBoolean
      case IntegerType => node.asInt
      case LongType    => node.asLong
      case FloatType =>
        java.lang.Float.floatToIntBits(if (node.isTextual) node.asText.toFloat else node.asDouble.toFloat)
      case DoubleType => java.lang.Double.doubleToLongBits(if (node.isTextual) node.asText.toDouble else node.asDouble)
      case d: DecimalType => new java.math.BigDecimal(node.asText).setScale(d.scale)
      case BinaryType     => Base64.getDecoder.decode(node.asText).toVector
      case DateType       => LocalDate.parse(node.asText).toEpochDay.toInt
      case TimestampType | TimestampNTZType =>
        val time = LocalDateTime.parse(node.asText)
        time.toEpochSecond(ZoneOffset.UTC) * 1000000L + time.getNano / 1000
      case a: ArrayType  => node.elements.asScala.map(value(_, a.elementType)).toVector
      case s: StructType => s.fields.toVector.map(field => value(node.get(field.name), field.dataType))
      case m: MapType =>
        node.elements.asScala.map(pair => value(pair.get(0), m.keyType) -> value(pair.get(1), m.valueType)).toMap
      case _ => node.asText
    }
}
