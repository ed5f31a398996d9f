"""What statements count is what became of the rows, whatever the table's rule; what they cannot know is `appended`."""

from __future__ import annotations

import os
from typing import Any

import pytest
from fold import Rule
from option_names import ORDERING
from sql_steps import Sql
from stored_rules import RULES

FULL = os.environ.get("MERGANSER_FULL") == "1"

#: Rules that look at whole rows: a statement reads less of the stored ones, so the outcome of logged rows is not known.
BY_WHOLE_ROWS = ("OverwriteNonDefaults", "PartialUpdate", "PostgresDebezium", "a user's merger")
ON_LOGS = {
    "commit time",
    "event time",
    "event time by two fields",
    "OverwriteWithLatest",
    "PartialUpdate",
    "AWSDms",
    "MySqlDebezium, version 8",
    "OverwriteWithLatest, version 6",
    "PostgresDebezium, version 8",
    "a user's merger",
}
ON_BASES = {"event time", "OverwriteWithLatest", "MySqlDebezium, version 8", "PartialUpdate", "a user's merger"}
assert {rule.name for rule in RULES} >= ON_LOGS | ON_BASES
CASES = [
    pytest.param(kind, rule, id=f"{kind}-{rule.name}")
    for kind, chosen in (("mor", ON_LOGS), ("cow", ON_BASES))
    for rule in RULES
    if (FULL and rule.by_column is None) or rule.name in chosen
]
CLASSES = "hoodie.write.record.merge.custom.implementation.classes"

#: Values of an ordering column below, at and above the stored one; of `_event_seq` the string order is another.
ORDERED: dict[str, tuple[Any, Any, Any]] = {
    "ts": (1, 5, 9),
    "seq": ("A", "A", "A"),
    "_event_lsn": (1, 5, 9),
    "_event_bin_file": ("bin.1", "bin.1", "bin.1"),
    "_event_pos": (1, 5, 9),
    "_event_seq": ("9.9", "10.5", "10.11"),
}
LOW, SAME, HIGH = range(3)


def literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


class Counted:
    """A table with seven rows, on which each statement's counts are compared with what readers see."""

    def __init__(self, sql: Sql, kind: str, rule: Rule) -> None:
        self.sql, self.rule = sql, rule
        self.columns = [tuple(column.split()) for column in rule.columns.split(", ")]
        options = {key: value for key, value in rule.settings.items() if key not in (ORDERING, CLASSES)}
        # One bucket: a log takes every row, a new one too.
        buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
        self.table = sql.create(
            kind, f"id int, v string, {rule.columns}", ordering=rule.settings[ORDERING], **options, **buckets
        )
        sql.run(f"INSERT INTO {self.table} VALUES {', '.join(self.row(key, 'old', SAME) for key in range(1, 8))}")

    def ordering(self, at: int) -> list[str]:
        return [literal(ORDERED[name][at]) if name in ORDERED else "'u'" for name, _ in self.columns]

    def row(self, key: int, v: str, at: int) -> str:
        return f"({', '.join([str(key), literal(v), *self.ordering(at)])})"

    def count(self, statement: str) -> dict[str, int]:
        (row,) = self.sql.spark.sql(statement).collect()
        counted = {name: row[name] for name in ("inserted", "updated", "deleted", "late", "appended")}
        return {name: count for name, count in counted.items() if count}

    def read(self) -> dict[int, str]:
        return {row[0]: row[1] for row in self.sql.run(f"SELECT id, v FROM {self.table}")}


# Guarantee (Counts, dry runs and explanations): A statement counts what the table's own rule does; rows that the rule
#   has not decided yet count as appended. Also:
#   test_rows_merged_with_others_only_when_read_are_counted_as_appended
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "rule"), CASES)
def test_the_counts_of_update_delete_and_merge_match_the_rows_of_readers(sql: Sql, kind: str, rule: Rule) -> None:
    with sql.settings(rule.for_readers):
        table = Counted(sql, kind, rule)
        updates = [(1, "new", LOW), (2, "new", SAME), (3, "new", HIGH), (9, "new", SAME)]
        rows = [*updates, (4, "gone", HIGH), (7, "gone", LOW)]
        names = ", ".join(["id", "v", *(name for name, _ in table.columns)])
        merged = table.count(
            f"MERGE INTO {table.table} t USING (SELECT * FROM VALUES {', '.join(table.row(*row) for row in rows)} "
            f"AS rows({names})) s ON t.id = s.id WHEN MATCHED AND s.v = 'gone' THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        lowered = ", ".join(
            f"{name} = {value}"
            for (name, _), value in zip(table.columns, table.ordering(LOW), strict=True)
            if name in ORDERED
        )
        updated = table.count(f"UPDATE {table.table} SET v = 'new', {lowered} WHERE id = 5")
        deleted = table.count(f"DELETE FROM {table.table} WHERE id = 6")
        seen = table.read()
    new = [key for key in (1, 2, 3) if seen[key] == "new"]
    # Whether a late delete loses is the rule's, as it is of rows that are marked as deletes.
    late = [7] if rule.by_event and not rule.deletes_win and rule.merge is None else []
    assert [key for key in (4, 6, 7, 9) if key in seen] == [*late, 9]
    if kind == "mor" and rule.name.startswith(BY_WHOLE_ROWS):
        assert (merged, updated, deleted) == ({"appended": 6}, {"appended": 1}, {"appended": 1})
        return
    outcomes = {"inserted": 1, "updated": len(new), "deleted": 2 - len(late), "late": 3 - len(new) + len(late)}
    assert merged == {name: count for name, count in outcomes.items() if count}
    assert updated == ({"updated": 1} if seen[5] == "new" else {"late": 1})
    assert deleted == {"deleted": 1}


def test_rows_merged_with_others_only_when_read_are_counted_as_appended(sql: Sql) -> None:
    """Of two rows of one key in a statement, and of a row whose key a log has deleted, only readers see what counts."""
    table = sql.create("mor", **{"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(f"DELETE FROM {table} WHERE id = 2")
    (by_key,) = sql.spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (2, 1L, 'x'), (3, 1L, 'y') AS s(id, ts, v)) s "
        "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    ).collect()
    assert (by_key["inserted"], by_key["appended"]) == (1, 1)
    (by_value,) = sql.spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1, 6L, 'q') AS s(id, ts, v)) s ON t.v = s.v "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN UPDATE SET v = 'z'"
    ).collect()
    assert (by_value["inserted"], by_value["updated"], by_value["appended"]) == (0, 0, 2)
    assert sql.rows(table) == [(1, 6, "q"), (2, 1, "x"), (3, 1, "y")]
