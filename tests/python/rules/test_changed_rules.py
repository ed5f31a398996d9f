"""Another rule of columns for a table that has rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, properties, refused, rows_of
from option_names import COW, MOR
from pyspark.sql import SparkSession

from merganser import Table, TableType

COLUMNS = "id int, ts bigint, name string, qty bigint, best int"
QTY, BEST = "merganser.rule.column.qty", "merganser.rule.column.best"


def made(spark: SparkSession, path: Path, kind: str) -> Table:
    """A table with a row that two commits wrote, the second of them into a log where the table has any."""
    table = Table.create(
        spark, path, COLUMNS, record_key="id", ordering_by="ts", rule={"qty": "sum"}, table_type=TableType(kind)
    )
    upsert(spark, table, (1, 5, "a", 10, 3), (2, 5, "b", 10, 3))
    upsert(spark, table, (1, 6, "a", 1, 2))
    return table


def upsert(spark: SparkSession, table: Table, *rows: tuple[Any, ...]) -> str:
    return table.upsert(frame(spark, rows, COLUMNS)).instant


# Guarantee (Merge rules): Changing a rule changes no stored row, and each version is merged by the rule under which it
#   was written; no write changes a rule, and a statement that the rule would merge wrongly is refused. Also:
#   test_alter_table_changes_a_rule_only_if_the_table_has_no_logs,
#   test_a_later_write_may_repeat_the_rule_but_not_contradict_it,
#   test_merge_adds_assigned_values_to_sums_and_update_of_a_sum_is_refused
@pytest.mark.extensive
@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_changed_rule_keeps_stored_rows_and_merges_later_versions(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    table = made(spark, path, kind)
    before = upsert(spark, table, (2, 6, "b", 1, 2))
    stored, files = rows_of(table.df()), listing(path)
    tried = table.services.change_rule({"qty": "max", "best": "max"}, dry_run=True)
    assert tried.options == {QTY: ("sum", "max"), BEST: (None, "max")}
    assert tried.file_slices_compacted == (1 if kind == MOR else 0)
    assert listing(path) == files
    assert table.services.change_rule({"qty": "max", "best": "max"}) == tried
    assert rows_of(table.df()) == stored
    assert Table.load(spark, path).rule == table.rule == {"qty": "max", "best": "max", "*": "last"}
    upsert(spark, table, (1, 7, "c", 2, 9), (2, 4, "late", 99, 1))
    assert rows_of(table.df()) == [(1, 7, "c", 11, 9), (2, 6, "b", 99, 2)]
    if kind == COW:
        assert rows_of(table.df(as_of=before)) == stored
    else:
        refused(lambda: table.df(as_of=before).collect(), "RULE_CHANGED_SINCE", "logs")
        assert rows_of(table.df().select("qty")) == [(11,), (99,)]
        assert table.inspect.explain(1).versions
    first = min(entry.instant for entry in table.history())
    refused(lambda: table.savepoints.restore(first), "RESTORE_BEFORE_RULE")
    assert table.inspect.verify()


@pytest.mark.extensive
def test_alter_table_changes_a_rule_only_if_the_table_has_no_logs(spark: SparkSession, tmp_path: Path) -> None:
    cow, mor = made(spark, tmp_path / "cow", COW), made(spark, tmp_path / "mor", MOR)
    alter = "ALTER TABLE merganser.`{}` {} TBLPROPERTIES ({})"
    spark.sql(alter.format(cow.path, "SET", f"'{BEST}' = 'max', '{QTY}' = 'sum'"))
    spark.sql(alter.format(cow.path, "UNSET", f"'{QTY}'"))
    upsert(spark, cow, (1, 7, "c", 5, 1))
    assert rows_of(cow.df()) == [(1, 7, "c", 5, 2), (2, 5, "b", 10, 3)]
    spark.sql(alter.format(cow.path, "UNSET", f"'{BEST}'"))
    stored = properties(Path(cow.path))
    assert stored["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert "merganser.rule" not in stored
    before = properties(Path(mor.path))
    change = alter.format(mor.path, "SET", f"'{QTY}' = 'max'")
    refused(lambda: spark.sql(change), "RULE_CHANGE_REFUSED", "1 of its file slices have logs", "change_rule")
    assert properties(Path(mor.path)) == before
    mor.compact()
    spark.sql(change)
    assert Table.load(spark, mor.path).rule["qty"] == "max"


def test_change_rule_refuses_an_invalid_rule_and_a_table_with_a_payload_class(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = made(spark, tmp_path / "t", COW)
    before = properties(Path(table.path))
    refused(lambda: table.services.change_rule({"name": "sum"}), "RULE_INVALID", "'name'", "'sum'")
    refused(lambda: table.services.change_rule({"amount": "sum"}), "RULE_INVALID", "'amount'")
    assert table.services.change_rule({"qty": "SUM"}).options == {}
    assert properties(Path(table.path)) == before
    payload = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"}
    other = Table.create(spark, tmp_path / "u", COLUMNS, record_key="id", ordering_by="ts", options=payload)
    refused(lambda: other.services.change_rule({"qty": "sum"}), "RULE_CHANGE_REFUSED", "payload class")
