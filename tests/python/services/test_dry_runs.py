"""Dry runs show effects and leave no trace, comparisons what another rule makes of rows: docs/before-and-after.md."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession
from snippets import page_text, snippets
from sql_steps import Sql, each_kind

import merganser
from merganser import MerganserError, MergeMode, Table, TableType
from merganser._calls import services
from merganser._statements import Statements
from merganser.cli.services import dry_run
from merganser.services import Services

PAGE, SECTIONS = "docs/before-and-after.md", ("Dry runs", "Comparison of rules")
DRY = {"spark.merganser.write.dryRun": "true"}
COLUMNS = "id int, name string, ts bigint"


def test_the_dry_run_snippets_print_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for code in (code for section in SECTIONS for code in snippets(PAGE, "python", section)):
        exec(compile(code, PAGE, "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("1 1 1\ninserted=1, updated=1, late=1, partitions=1\nupdated 1: ")
    assert "\narchiving: nothing to do\n" in printed
    reason = '(the row before stays: {"ts":3} against {"ts":5}, by EVENT_TIME_ORDERING)'
    assert f"late 2: id=2, status='new', ts=5 -> id=2, status='new', ts=5 {reason}" in printed
    assert "<table>" in names["result"].dry_run._repr_html_()
    for block in (block for section in SECTIONS for block in snippets(PAGE, "sql", section)):
        for statement in block.replace("{path}", names["path"]).split(";"):
            if statement.strip():
                spark.sql(statement).collect()


STATEMENTS = [
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 9L, 'm'), (2, 3L, 'late'), (7, 1L, 'n') AS s(id, ts, v)) s "
    "ON t.id = s.id WHEN MATCHED AND s.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING (SELECT * FROM VALUES ('a', 9L) AS s(v, ts)) s ON t.v = s.v "
    "WHEN MATCHED THEN UPDATE SET ts = s.ts WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "UPDATE {t} SET v = upper(v) WHERE id > 1",
    "DELETE FROM {t} WHERE id = 3",
    "INSERT INTO {t} VALUES (8, 1, 'x')",
    "INSERT OVERWRITE {t} VALUES (1, 1, 'only')",
]


@each_kind
def test_a_dry_run_of_a_statement_has_its_counts_and_rows(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c'), (4, 5, 'd')")
    for template in STATEMENTS:
        statement = template.format(t=table)
        before, files = dict_of(sql, table), listing(sql.folder(table))
        dry = merganser.dry_run(sql.spark, statement, rows=100)
        assert (dict_of(sql, table), listing(sql.folder(table))) == (before, files)
        result = sql.spark.sql(statement).collect()
        after = dict_of(sql, table)
        shown = {int(row.key): row for row in dry.rows}
        assert {row.outcome for row in dry.rows} <= {"inserted", "updated", "late", "deleted", "replaced"}
        for key in before.keys() | after.keys():
            if dry.rows_replaced == 0 and key not in shown:
                assert before.get(key) == after.get(key)
            elif dry.rows_replaced == 0:
                assert (shown[key].before, shown[key].after) == (before.get(key), after.get(key)), statement
        if result and "inserted" in result[0].asDict():
            counts = result[0].asDict()
            if counts["appended"] == 0:
                counted = (dry.inserted, dry.updated, dry.deleted, dry.late)
                assert counted == tuple(counts[n] for n in ("inserted", "updated", "deleted", "late")), statement
    assert dry.rows_replaced == len(before)


def dict_of(sql: Sql, table: str) -> dict[int, dict[str, Any]]:
    return {row[0]: dict(zip(("id", "ts", "v"), row)) for row in sql.rows(table, "id, ts, v")}


def test_a_dry_run_of_an_unsupported_statement_is_refused_before_it_runs(sql: Sql, tmp_path: Path) -> None:
    table = sql.create("cow")
    sql.run(f"CREATE TABLE {sql.name()} (id INT) USING parquet")
    other = sql._names[-1]
    for statement in (f"DROP TABLE {table}", f"CALL run_clean(table => '{table}')", "SELECT 1"):
        with pytest.raises(MerganserError) as refusal:
            merganser.dry_run(sql.spark, statement)
        assert refusal.value.condition == "DRY_RUN_STATEMENT"
    with pytest.raises(MerganserError) as refusal:
        merganser.dry_run(sql.spark, f"INSERT INTO {other} VALUES (1)")
    assert refusal.value.condition == "TABLE_OF_OTHER_FORMAT"
    assert sql.rows(other) == []
    rows = sql.spark.sql("SELECT 1 AS id, 1L AS ts, 'a' AS v")
    new = rows.write.format("merganser").options(primaryKey="id", **DRY)
    refused(lambda: new.saveAsTable(sql.name()), "DRY_RUN_UNSUPPORTED")
    source = sql.spark.readStream.format("rate").load().selectExpr("value AS id")
    stream = source.writeStream.format("merganser").options(**{KEY: "id", **DRY})
    starting = stream.option("checkpointLocation", str(tmp_path / "c"))
    refused(lambda: starting.start(str(tmp_path / "s")), "DRY_RUN_UNSUPPORTED")
    assert not (tmp_path / "s").exists()


def test_a_frame_with_the_dry_run_option_is_not_written_even_without_a_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: COW}
    rows = frame(spark, [(1, "a", 5), (2, "b", 5)], COLUMNS)
    save(rows, path, {**options, **DRY})
    assert not path.exists()
    first = merganser.last_dry_run(spark)
    assert first is not None
    assert (first.inserted, len(first.rows)) == (2, 2)
    save(rows, path, {**options, **DRY, "spark.merganser.write.dryRun.rows": "1"})
    few = merganser.last_dry_run(spark)
    assert few is not None
    assert (few.inserted, len(few.rows)) == (2, 1)
    save(rows, path, options)
    files = listing(path)
    save(frame(spark, [(1, "b", 5), (3, "c", 1)], COLUMNS), path, {**options, **DRY})
    assert listing(path) == files
    second = merganser.last_dry_run(spark)
    assert second is not None
    assert (second.inserted, second.updated, second.ties) == (1, 1, 1)
    client = Table(spark, Statements(spark), Table.load(spark, path)._info)
    for table in (Table.load(spark, path), client):
        result = table.delete(frame(spark, [(1, "", 0)], COLUMNS), dry_run=True)
        assert (result.instant, result.operation, result.deleted) == ("", "delete", 1)
        assert result.dry_run is not None
        assert [(row.outcome, row.key, row.after) for row in result.dry_run.rows] == [("deleted", "1", None)]
    assert listing(path) == files


def test_a_dry_run_of_each_service_lists_its_steps_and_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(frame(spark, [(i, "a", 1) for i in range(4)], COLUMNS), path, {KEY: "id", ORDERING: "ts", TYPE: MOR})
    table = Table.load(spark, path)
    for ts in range(2, 5):
        table.upsert(frame(spark, [(1, "b", ts)], COLUMNS), options={"hoodie.compact.inline": "false"})
    newest, first = table.history()[0].instant, table.history()[-1].instant
    table.savepoints.create(first)
    files = listing(path)
    found = {
        name: table.services.dry_run(name, **({"instant": first} if name in ("restore", "savepoint") else {}))
        for name in services()
    }
    assert listing(path) == files
    assert [(step.action, step.files) for step in found["compaction"]] == [("compact", 4)]
    assert found["compaction"].bytes > 0
    assert {step.action for step in found["restore"]} == {"restore", "roll back", "delete", "count", "update"}
    assert found["rollback"].steps[0].item == newest
    assert [step.item for step in found["delete_savepoint"]] == [first]
    assert [(step.action, step.files) for step in found["savepoint"]] == [("keep", 1)]
    archived = table.services.dry_run("archiving", min_commits=1, max_commits=2)
    assert not archived  # delta commits that no compaction has merged, and a savepoint
    assert not found["upgrade"]
    assert not found["rollback_failed_writes"]
    logs = table.services.dry_run("log_compaction", options={"hoodie.log.compaction.blocks.threshold": "2"})
    assert [(step.action, step.files) for step in logs] == [("compact", 3)]
    with pytest.raises(MerganserError) as refusal:
        table.services.dry_run("vacuum")
    assert refusal.value.condition == "CALL_ARGUMENT_INVALID"
    assert "remove_orphans" in str(refusal.value)
    with pytest.raises(MerganserError):
        table.services.dry_run("clean", instant=first)
    assert listing(path) == files


# Guarantee (Counts, dry runs and explanations): A comparison of rules has the rows of a table with the other rule,
#   where all versions are retained, and lists what it could not see. Also:
#   test_compare_rule_evaluates_merger_classes_and_python_rules_as_tables_do
def test_compare_rule_returns_the_rows_of_a_table_with_the_other_rule(spark: SparkSession, tmp_path: Path) -> None:
    batches = [
        [(1, "a", 5), (2, "a", 5), (3, "a", 5), (4, "a", 5)],
        [(1, "late", 3), (2, "newer", 6), (5, "b", 1)],
        [(3, "older", 4), (4, None, 7), (5, "tie", 1)],
    ]
    made = {}
    rules: dict[str, dict[str, Any]] = {
        "own": {"ordering_by": "ts"},
        "commit": {"ordering_by": "ts", "merge_mode": MergeMode.COMMIT_TIME_ORDERING},
        "first": {"ordering_by": "ts", "rule": {"name": "first_non_null"}},
    }
    for name, rule in rules.items():
        # Logs take new keys too: every version is retained.
        bucket = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
        path, kind = str(tmp_path / name), TableType.MERGE_ON_READ
        table = Table.create(spark, path, COLUMNS, record_key="id", table_type=kind, options=bucket, **rule)
        for batch in batches:
            table.upsert(frame(spark, batch, COLUMNS), options={"hoodie.compact.inline": "false"})
        made[name] = {row[0]: row for row in rows_of(load(spark, tmp_path / name).select("id", "name", "ts"))}
    own = Table.load(spark, tmp_path / "own")
    files = listing(tmp_path / "own")
    for name in ("commit", "first"):
        compared = own.inspect.compare_rule(**rules[name])
        expected = {key: row for key, row in made[name].items() if row != made["own"].get(key)}
        shown = {int(d.key): tuple(d.other.values()) for d in compared.examples if d.other is not None}
        assert shown == expected, name
        assert compared.differing == len(expected) > 0
        assert {int(d.key): tuple(d.stored.values()) for d in compared.examples if d.stored} == {
            key: made["own"][key] for key in expected
        }
        assert any("oldest retained row" in note for note in compared.notes)
    assert own.inspect.compare_rule(**rules["own"]).differing == 0
    by_sql = Table(spark, Statements(spark), own._info).inspect.compare_rule(**rules["commit"])
    assert by_sql == own.inspect.compare_rule(**rules["commit"])
    assert listing(tmp_path / "own") == files
    with pytest.raises(MerganserError):
        own.inspect.compare_rule(settings={"hoodie.datasource.write.payload.class": "no.such.Payload"})


CLASSES = "hoodie.write.record.merge.custom.implementation.classes"


def custom(name: str, strategy: str) -> dict[str, str]:
    return {
        "hoodie.write.record.merge.mode": "CUSTOM",
        "hoodie.write.record.merge.strategy.id": strategy,
        CLASSES: f"io.merganser.conformance.{name}",
    }


def test_compare_rule_evaluates_merger_classes_and_python_rules_as_tables_do(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = "id int, name string, price double, ts bigint"
    batches = [
        [(1, "a", 1.0, 5), (2, "a", 9.0, 5), (3, "a", 1.0, 5), (4, "a", 4.0, 5)],
        [(1, "late", 3.0, 3), (2, "new", 2.0, 6), (5, "e", 1.0, 1)],
        [(3, "late", 0.5, 4), (4, None, 7.0, 7), (1, "new", 2.0, 8)],
    ]

    @merganser.rule
    def traced(old: Any, new: Any) -> Any:
        return {"price": old.price + new.price, "name": merganser.rules.greatest(old.name, new.name)}

    payload = "hoodie.datasource.write.payload.class"
    rules: dict[str, dict[str, Any]] = {
        "own": {"merge_mode": MergeMode.EVENT_TIME_ORDERING},
        "traced": {"rule": traced},
        "first": {"settings": custom("KeepFirst", "2da6ba2d-6b9e-4a8c-b948-54daf8ca5a10")},
        "price": {"settings": custom("MaxPrice", "841577c6-50de-4f2d-9c31-526c356219a4")},
        "payload": {"settings": {payload: "org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload"}},
        "users": {"settings": {payload: "io.merganser.conformance.SummingPayload"}},
    }
    made, tables = {}, {}
    for name, rule in rules.items():
        bucket = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1", **rule.get("settings", {})}
        path, own = str(tmp_path / name), {key: value for key, value in rule.items() if key != "settings"}
        table = tables[name] = Table.create(
            spark,
            path,
            columns,
            record_key="id",
            ordering_by="ts",
            table_type=TableType.MERGE_ON_READ,
            options=bucket,
            **own,
        )
        classes = {key: value for key, value in rule.get("settings", {}).items() if key == CLASSES}
        for batch in batches:
            table.upsert(frame(spark, batch, columns), options={"hoodie.compact.inline": "false", **classes})
        rows = load(spark, tmp_path / name, **classes).select("id", "name", "price", "ts")
        made[name] = {row[0]: row for row in rows_of(rows)}
    for name, rule in rules.items():
        compared = tables["own"].inspect.compare_rule(**rule)
        expected = {key: row for key, row in made[name].items() if row != made["own"].get(key)}
        shown = {int(d.key): tuple(d.other.values()) for d in compared.examples if d.other is not None}
        assert shown == expected, name
        assert compared.differing == len(expected), name
        assert (compared.differing > 0) == (name != "own"), name
    # The other way round: the table's own rule is a class, and the options name it.
    named = tables["price"].inspect.compare_rule(
        merge_mode=MergeMode.EVENT_TIME_ORDERING, options={CLASSES: rules["price"]["settings"][CLASSES]}
    )
    assert named.differing == sum(made["price"][key] != row for key, row in made["own"].items())
    assert "MaxPrice" in named.rules


def test_a_dry_run_of_an_upgrade_shows_the_settings_that_replace_the_payload_class(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    options = {
        KEY: "id",
        ORDERING: "ts",
        TYPE: MOR,
        "hoodie.write.table.version": "6",
        "hoodie.datasource.write.payload.class": payload,
    }
    save(frame(spark, [(1, "a", 5), (2, "b", 5)], COLUMNS), path, options)
    save(frame(spark, [(1, None, 7), (2, "late", 3)], COLUMNS), path, options)
    files = listing(path)
    table = Table.load(spark, path)
    dry = table.services.dry_run("upgrade")
    assert listing(path) == files
    steps = {(step.action, step.item): step.detail for step in dry}
    assert steps["set", "hoodie.table.version"] == "6 -> 9"
    assert steps["set", "hoodie.record.merge.mode"].endswith("EVENT_TIME_ORDERING")
    assert steps["set", "hoodie.compaction.payload.class"] == f"{payload} -> not set"
    assert "0 of 2 rows" in steps["compare", "rule"]
    (row,) = spark.sql(f"CALL upgrade_table(path => '{path}', dry_run => true)").collect()
    assert (row.result, len(row.steps)) == (False, len(dry))
    table.services.upgrade()
    assert properties(path)["hoodie.table.version"] == "9"
    after = properties(path)
    for step in dry:
        if step.action == "set":
            assert after.get(step.item, "not set") == step.detail.split(" -> ")[1], step.item


def test_the_page_and_python_list_every_service_with_a_dry_run() -> None:
    text = page_text(PAGE, "Services")
    listed = text[text.index("| service | steps |") : text.index("The procedure that runs a service")]
    method = inspect.getdoc(Services.dry_run)
    command = dry_run.help
    assert services()
    for name in services():
        assert f"`{name}`" in listed, name
        assert name in str(method), name
        assert name in str(command), name


def test_an_argument_an_option_or_the_session_makes_a_write_a_dry_run_over_both_transports(
    spark: SparkSession, tmp_path: Path
) -> None:
    Table.create(spark, tmp_path / "t", COLUMNS, record_key="id", ordering_by="ts")
    classic = Table.load(spark, tmp_path / "t")
    rows = frame(spark, [(1, "a", 5), (2, "b", 6)], COLUMNS)
    ignored = {"hoodie.metrics.on": "true"}
    files = listing(tmp_path / "t")
    for table in (classic, Table(spark, Statements(spark), classic._info)):
        by_argument = table.upsert(rows, dry_run=True, options=ignored)
        by_option = table.upsert(rows, options={**ignored, **DRY})
        spark.conf.set("spark.merganser.write.dryRun", "true")
        try:
            by_session = table.upsert(rows, options=ignored)
        finally:
            spark.conf.unset("spark.merganser.write.dryRun")
        for result in (by_argument, by_option, by_session):
            assert (result.instant, result.inserted) == ("", 2)
            assert result.dry_run is not None
            assert (result.dry_run.inserted, len(result.dry_run.rows)) == (2, 2)
            assert "hoodie.metrics.on" in str(result.ignored_options)
    assert listing(tmp_path / "t") == files


def test_a_limit_of_check_keys_does_not_change_its_count_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    save(frame(spark, [(1, "a", 5)], COLUMNS), tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: MOR})
    call = f"CALL check_keys(path => '{tmp_path / 't'}', limit => 0)"
    assert [row["rows"] for row in spark.sql(call).collect()] == [1]
