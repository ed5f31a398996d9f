package io.merganser.spark.capture

import io.merganser.spark.capture.EventKind._

/** Envelopes of change events: where each tool has the row, the operation and the order of an event. */
private[capture] object Presets {

  lazy val All: Seq[Preset] =
    Seq(Postgres, MySql, Generic, Flattened, Maxwell, Canal, AwsDms, AwsDmsS3, GoldenGate)

  lazy val Names: Seq[String] = All.map(_.name).sorted

  private val Placeholder = "__debezium_unavailable_value"

  private def strings(fields: String*): Seq[(String, String)] = fields.map(_ -> "string")
  private def longs(fields: String*): Seq[(String, String)]   = fields.map(_ -> "bigint")

  /** Kinds by conditions, and what an event is for which none holds. */
  private def kinds(otherwise: String, cases: (String, String)*): String =
    cases.map { case (condition, kind) => s"WHEN $condition THEN '$kind'" }
      .mkString("CASE ", " ", s" ELSE '$otherwise' END")

  private val UnknownOperation = s"${Refused}OPERATION_UNKNOWN"
  private val UnknownEnvelope  = s"${Refused}ENVELOPE_UNKNOWN"

  private val DebeziumKind = kinds(
    UnknownEnvelope,
    "e.op IN ('c', 'r', 'u')" -> Upsert,
    "e.op = 'd'" -> Delete,
    "e.op = 't'" -> Truncate,
    "e.op = 'm'" -> s"${Skip}message",
    "e.op IS NOT NULL" -> UnknownOperation,
    "e.status IN ('BEGIN', 'END')" -> s"${Skip}transaction",
    "e.ddl IS NOT NULL OR e.tableChanges IS NOT NULL" -> s"${Skip}schema_change",
    "e.ts_ms IS NOT NULL AND e.source.ts_ms IS NULL" -> s"${Skip}heartbeat"
  )

  private val DebeziumHeader = strings("op") ++ longs("ts_ms") ++
    strings("status", "ddl", "tableChanges", "source.connector") ++ longs("source.ts_ms") ++
    strings("source.snapshot", "source.db", "source.schema", "source.table")

  /** Fields of Debezium's source by which its connectors order the events of a key. */
  private val Positions = longs("lsn") ++ strings("commit_lsn", "change_lsn") ++ longs("event_serial_no") ++
    strings("scn", "rs_id") ++ longs("ssn") ++ strings("file") ++ longs("pos", "row", "ord", "ts_ms", "ts_ns")

  private def fileNumber(file: String) = s"cast(nullif(regexp_extract($file, '([0-9]+)$$', 1), '') AS bigint)"

  /** Whether an event is a row of a snapshot that was read at no position of a binlog, as Flink CDC reads them. */
  private def isLoad(operation: String, file: String) = s"$operation = 'r' AND $file = ''"

  private def digits(number: String, size: Int = 20) = s"lpad(cast(coalesce($number, 0) AS string), $size, '0')"

  /** A position as it is, which has a fixed width in most databases; one of digits alone is padded. */
  private def comparable(position: String) = s"if($position RLIKE '^[0-9]+$$', ${digits(position)}, $position)"

  /**
   * The position of an event as a string that compares as the positions do, for every connector.
   *
   * @param field     the expression of a field of the source
   * @param operation the expression of the operation
   */
  private def position(operation: String)(field: String => String): String = {
    val (file, pos, lsn) = (field("file"), field("pos"), field("lsn"))
    Seq(
      // Of PostgreSQL: the first change after a snapshot may be at its position, and wins.
      lsn -> digits(s"if($operation = 'r', $lsn - 1, $lsn)"),
      // Of SQL Server and Db2 hexadecimal of a fixed width, of Informix a number.
      field("commit_lsn") -> (s"concat_ws('/', ${comparable(field("commit_lsn"))}, " +
        s"coalesce(${comparable(field("change_lsn"))}, ''), ${digits(field("event_serial_no"), 10)})"),
      field("scn") ->
        s"concat_ws('/', ${digits(field("scn"))}, coalesce(${field("rs_id")}, ''), ${digits(field("ssn"), 10)})",
      pos -> (s"CASE WHEN ${isLoad(operation, file)} THEN '' WHEN $pos >= 0 THEN concat_ws('/', " +
        s"${digits(fileNumber(file), 12)}, ${digits(pos)}, ${digits(field("row"), 10)}) END"),
      field("ord") -> s"concat_ws('/', ${digits(field("ts_ms"))}, ${digits(field("ord"), 10)})",
      field("ts_ns") -> digits(field("ts_ns")),
      field("ts_ms") -> digits(s"${field("ts_ms")} * 1000000")
    ).map { case (has, text) => s"WHEN $has IS NOT NULL THEN $text" }.mkString("CASE ", " ", " END")
  }

  private val Debezium = Preset(
    name = "debezium",
    header = DebeziumHeader,
    kind = DebeziumKind,
    stored = Seq(
      EventColumn("_change_operation_type", "string", "e.op"),
      EventColumn("_event_origin_ts_ms", "bigint", "e.source.ts_ms")),
    sourceTable = Some("concat_ws('.', e.source.db, e.source.schema, e.source.`table`)"),
    hasSchema = true,
    decimals = "base64"
  )

  private val Processed = EventColumn("_upstream_event_processed_ts_ms", "bigint", "e.ts_ms")

  private val Fills =
    Map("hoodie.datasource.write.payload.class" ->
      "org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload")

  private val Postgres = Debezium.copy(
    name = "debezium_postgres",
    header = DebeziumHeader ++ longs("source.lsn", "source.txId", "source.xmin"),
    // Rows of a snapshot have the position at which it was taken, and so may the first change after it: that wins.
    ordering = Seq(EventColumn("_event_lsn", "bigint", "if(e.op = 'r', e.source.lsn - 1, e.source.lsn)")),
    known = Seq(
      EventColumn("_event_tx_id", "bigint", "e.source.txId"),
      EventColumn("_event_xmin", "bigint", "e.source.xmin"),
      Processed),
    placeholder = Some(Placeholder),
    options = Fills
  )

  private val MySqlLoad = isLoad("e.op", "e.source.file")

  private val MySql = Debezium.copy(
    name = "debezium_mysql",
    header = DebeziumHeader ++ strings("source.file") ++ longs("source.pos", "source.row"),
    ordering = Seq(
      EventColumn("_event_bin_number", "bigint", s"if($MySqlLoad, -1, ${fileNumber("e.source.file")})"),
      // Below 0 where the binlog has no position of the event, as from MariaDB 11.4 on by default: there is no order.
      EventColumn("_event_pos", "bigint",
        s"CASE WHEN $MySqlLoad THEN 0 WHEN e.source.pos >= 0 THEN e.source.pos END"),
      EventColumn("_event_row", "bigint", "coalesce(e.source.row, 0)")
    ),
    known = Seq(
      EventColumn("_event_bin_file", "string", "e.source.file"),
      EventColumn("_event_seq", "string",
        "concat(substring_index(e.source.file, '.', -1), '.', cast(e.source.pos AS string))"),
      Processed),
    timestampUnit = "millis"
  )

  private val Generic = Debezium.copy(
    name = "debezium_generic",
    header = DebeziumHeader ++ Positions.map { case (field, kind) => s"source.$field" -> kind }
      .filterNot(DebeziumHeader.contains),
    ordering = Seq(EventColumn("_event_lsn", "string", position("e.op")(field => s"e.source.$field"))),
    placeholder = Some(Placeholder),
    timestampUnit = "millis",
    options = Fills
  )

  private val Flattened = Preset(
    name = "debezium_flattened",
    header = strings("__op", "__deleted", "__table", "__source_table") ++
      Seq("__", "__source_").flatMap(prefix => Positions.map { case (field, kind) => s"$prefix$field" -> kind }),
    kind = kinds(
      UnknownEnvelope,
      "e.__deleted = 'true' OR e.__op = 'd'" -> Delete,
      "e.__op IN ('c', 'r', 'u') OR (e.__op IS NULL AND e.__deleted = 'false')" -> Upsert,
      "e.__op = 't'" -> Truncate,
      "e.__op IS NOT NULL" -> UnknownOperation
    ),
    ordering = Seq(EventColumn("_event_lsn", "string",
        position("e.__op")(field => s"coalesce(e.__source_$field, e.__$field)"))),
    stored = Seq(EventColumn("_change_operation_type", "string", "if(e.__deleted = 'true', 'd', e.__op)")),
    after = None,
    before = None,
    rowPrefixes = Seq("__"),
    sourceTable = Some("coalesce(e.__source_table, e.__table)"),
    hasSchema = true,
    placeholder = Some(Placeholder),
    decimals = "base64",
    tombstones = "refuse",
    options = Fills
  )

  /** `mysql-bin.000002:12345` as a string that compares as positions do; empty without one. */
  private def binlogPosition(position: String) = {
    def part(number: Int) = s"substring_index($position, ':', $number)"
    s"if($position IS NULL, '', concat(${digits(fileNumber(part(1)), 12)}, ':', ${digits(part(-1))}))"
  }

  private val Maxwell = Preset(
    name = "maxwell",
    header = strings("type", "database", "table", "position", "ddl", "sql") ++ longs("ts", "xid", "xoffset") :+
      ("commit" -> "boolean"),
    kind = kinds(
      UnknownEnvelope,
      "e.type IN ('insert', 'update', 'bootstrap-insert')" -> Upsert,
      "e.type = 'delete'" -> Delete,
      "e.type IN ('bootstrap-start', 'bootstrap-complete')" -> s"${Skip}bootstrap",
      "e.type RLIKE '^(table|database)-'" -> s"${Skip}schema_change",
      "e.type = 'heartbeat'" -> s"${Skip}heartbeat",
      "e.type IS NOT NULL" -> UnknownOperation
    ),
    ordering = Seq(
      EventColumn("_event_position", "string", binlogPosition("e.position")),
      EventColumn("_event_ts", "bigint", "e.ts"),
      EventColumn("_event_xid", "bigint", "coalesce(e.xid, 0)"),
      // The last row of a transaction has `commit` in place of an offset.
      EventColumn("_event_xoffset", "bigint", "if(e.commit, 9223372036854775807, coalesce(e.xoffset, 0))")
    ),
    after = Some("data"),
    before = Some("old"),
    beforeIsPartial = true,
    sourceTable = Some("concat_ws('.', e.database, e.`table`)"),
    recordKey = Some("primary_key_columns")
  )

  private val Canal = Preset(
    name = "canal",
    header = strings("type", "database", "table") ++ longs("es", "ts", "id") :+ ("isDdl" -> "boolean"),
    kind = kinds(
      UnknownEnvelope,
      "e.type IN ('INSERT', 'UPDATE')" -> Upsert,
      "e.type = 'DELETE'" -> Delete,
      "e.type = 'TRUNCATE'" -> Truncate,
      "e.isDdl OR e.type IN ('CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX')" -> s"${Skip}schema_change",
      "e.type IN ('QUERY', 'TRANSACTIONBEGIN', 'TRANSACTIONEND', 'GTID', 'XACOMMIT', 'XAROLLBACK')" ->
        s"${Skip}transaction",
      "e.type IS NOT NULL" -> UnknownOperation
    ),
    ordering =
      Seq(EventColumn("_event_es", "bigint", "e.es"), EventColumn("_event_id", "bigint", "coalesce(e.id, 0)")),
    after = None,
    before = Some("old"),
    beforeIsPartial = true,
    rows = Some("data"),
    sourceTable = Some("concat_ws('.', e.database, e.`table`)"),
    recordKey = Some("pkNames"),
    texts = true,
    binaries = "latin1",
    types = Some("mysqlType")
  )

  private val DmsOperation = "e.metadata.operation"
  private val DmsTime      = "coalesce(e.metadata.`commit-timestamp`, e.metadata.timestamp)"

  /** With six digits behind the second, so that it compares as the time does: "…:09Z" is in front of "…:09.5Z". */
  private val DmsMicros =
    s"if($DmsTime RLIKE '[0-9]([.][0-9]+)?Z?$$', concat(regexp_extract($DmsTime, '^([^.Z]*)', 1), '.', " +
      s"rpad(regexp_extract($DmsTime, '[.]([0-9]+)', 1), 6, '0'), 'Z'), $DmsTime)"

  private val AwsDms = Preset(
    name = "aws_dms",
    header = strings("metadata.timestamp", "metadata.record-type", "metadata.operation", "metadata.schema-name",
      "metadata.table-name", "metadata.commit-timestamp") ++
      longs("metadata.transaction-id", "metadata.transaction-record-id"),
    kind = kinds(
      UnknownEnvelope,
      s"$DmsOperation IN ('load', 'insert', 'update')" -> Upsert,
      s"$DmsOperation = 'delete'" -> Delete,
      s"$DmsOperation = 'truncate-table'" -> Truncate,
      "e.metadata.`record-type` = 'control'" -> s"${Skip}schema_change",
      s"$DmsOperation IS NOT NULL" -> UnknownOperation
    ),
    ordering = Seq(
      // The time of a load is that of the replication server; a change may be committed before it, by the source's
      // clock, and not be in the load.
      EventColumn("_event_timestamp", "string", s"if($DmsOperation = 'load', '', $DmsMicros)"),
      EventColumn("_event_transaction", "bigint", "coalesce(e.metadata.`transaction-id`, 0)"),
      EventColumn("_event_record", "bigint", "coalesce(e.metadata.`transaction-record-id`, 0)")
    ),
    after = Some("data"),
    before = Some("before-image"),
    beforeIsPartial = true,
    sourceTable = Some("concat_ws('.', e.metadata.`schema-name`, e.metadata.`table-name`)"),
    omitsNulls = true // IncludeNullAndEmpty is false unless it is set
  )

  private val AwsDmsS3 = Preset(
    name = "aws_dms_s3",
    header = Seq("Op" -> "string", Preset.Load -> "boolean"),
    kind = kinds(UnknownOperation, "coalesce(e.Op, 'I') IN ('I', 'U', '')" -> Upsert, "e.Op = 'D'" -> Delete),
    known = Seq(EventColumn("Op", "string", "e.Op")),
    // The columns of a load are filled by another clock, or are empty.
    beforeSequence = Seq(EventColumn("_event_is_change", "int", "if({load}, 0, 1)")),
    after = None,
    before = None,
    rowPrefixes = Seq(Preset.Load)
  )

  private val GoldenGate = Preset(
    name = "ogg",
    header = strings("table", "op_type", "op_ts", "current_ts", "pos"),
    kind = kinds(
      UnknownEnvelope,
      "e.op_type IN ('I', 'U')" -> Upsert,
      "e.op_type = 'D'" -> Delete,
      "e.op_type = 'T'" -> Truncate,
      "e.op_type IS NOT NULL" -> UnknownOperation
    ),
    ordering = Seq(EventColumn("_event_pos", "string", "lpad(e.pos, greatest(20, length(e.pos)), '0')")),
    sourceTable = Some("e.`table`"),
    recordKey = Some("primary_keys"),
    texts = true
  )
}
