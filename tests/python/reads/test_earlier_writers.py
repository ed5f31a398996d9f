"""Tables in the forms of earlier writers: each use is right, or refused by name before anything is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SEED, number_of
from foreign_forms import FORMS
from foreign_tables import Form, rows_of, write
from frames import listing, load, refused, save
from option_names import MOR
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from merganser import Table

UPSERTED, MERGED = 4, 5


def drawn(name: str, form: Form) -> list[tuple[str, str]]:
    """Versions and types of tables: one that the seed draws, or all of them with MERGANSER_FULL=1."""
    possible = [(version, kind) for version in form.versions for kind in form.kinds]
    return possible if os.environ.get("MERGANSER_FULL") else [possible[(SEED + number_of(name)) % len(possible)]]


class Uses:
    """What is done to a table, and what it has to have then: by id, the value of `v`."""

    def __init__(self, table: Table, form: Form) -> None:
        self.table, self.form = table, form
        self.rows = {1: "a", 2: "b", 3: "a"}

    def expected(self, rows: dict[int, str]) -> list[tuple[Any, ...]]:
        return sorted((id, v, *self.form.place(id).values) for id, v in rows.items())

    def found(self, rows: DataFrame) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in rows.select("id", "v", *self.form.names).collect())

    def read(self) -> None:
        """The snapshot, its keys and paths, and the rows by each column of the form."""
        assert self.found(self.table.df()) == self.expected(self.rows)
        meta = self.table.df().select("id", "_hoodie_record_key", "_hoodie_partition_path").collect()
        assert sorted(map(tuple, meta)) == [
            (i, self.form.key_of(i), self.form.place(i).path) for i in sorted(self.rows)
        ]
        for i, column in enumerate(self.form.names):
            value = self.form.places[1].values[i]
            same = {id: v for id, v in self.rows.items() if self.form.place(id).values[i] == value}
            if not isinstance(value, (tuple, list)):
                assert self.found(self.table.df(where=F.col(column).eqNullSafe(F.lit(value)))) == self.expected(same)

    def history(self, kind: str) -> None:
        """The reads of a table with two writes: as of the first one, since it and since the start."""
        before, first = {**self.rows, 2: "a"}, self.table.history()[-1].instant
        assert self.found(self.table.df(as_of=first)) == self.expected(before)
        assert self.found(self.table.changes(since=first)) == self.expected({2: "b"})
        assert self.found(self.table.changes()) == self.expected(self.rows)
        (changed,) = self.table.change_data(since=first).select("before", "after").collect()
        images = [tuple(image[name] for name in ("id", "v", *self.form.names)) for image in changed]
        assert images == self.expected({2: "a"}) + self.expected({2: "b"})
        optimized = before if kind == MOR else self.rows
        assert self.found(self.table.df(read_optimized=True)) == self.expected(optimized)

    def upsert(self, ts: int) -> None:
        """Of a row in a base file, one that may be in a log, and one that is new at first."""
        changed = dict.fromkeys((1, 2, UPSERTED), f"upsert {ts}")
        self.table.upsert(rows_of(self.table._spark, self.form, *((id, ts, v) for id, v in changed.items())))
        self.rows = {**self.rows, **changed}

    def statements(self) -> None:
        spark, name = self.table._spark, self.table.identifier
        spark.sql(f"UPDATE {name} SET v = 'update' WHERE id = 3")
        spark.sql(f"DELETE FROM {name} WHERE id = 2")
        rows_of(spark, self.form, (1, 9, "merge"), (MERGED, 9, "merge")).createOrReplaceTempView("changes")
        spark.sql(
            f"MERGE INTO {name} t USING changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        del self.rows[2]
        self.rows = {**self.rows, 3: "update", 1: "merge", MERGED: "merge"}

    def verified(self) -> None:
        result = self.table.inspect.verify()
        assert result.ok, result.to_string()


# Guarantee (Tables of other engines): Every form of keys, paths and times that earlier Hudi releases left, such as
#   slashed dates, is correct in each read, write, service and upgrade, or refused by name; a verification finds nothing
#   in it. Also: test_a_time_based_column_that_hudi_made_a_string_is_written_and_verified,
#   TimeUnitsSuite, test_a_table_in_milliseconds_keeps_its_unit_and_refuses_finer_times,
#   test_hudis_table_with_slashed_dates_is_read_as_dates_and_each_key_keeps_one_path,
#   test_values_with_slashes_and_of_other_types_get_hudis_paths
# Guarantee (Tables of other engines): Timestamps in paths are written as the table has them; paths of two forms or
#   another time zone are refused. Also:
#   test_an_overwrite_unifies_path_forms_and_paths_of_another_zone_require_that_zone,
#   test_both_engines_find_rows_in_timestamp_paths_of_hudis_statements
# Guarantee (Tables of other engines): Where a table does not store whether a path has a string or a time, no filter
#   prunes by it, and a write is refused unless its options contain the type ([decision
#   155](design/layout-and-trust.md#155-forms-of-stored-keys-and-paths)). Also:
#   test_partition_kinds_of_an_option_are_accepted_if_they_match_the_tables_paths
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "version", "kind"), [(name, *case) for name, form in FORMS.items() for case in drawn(name, form)]
)
def test_a_table_of_an_earlier_writer_works_in_each_use_or_is_refused(
    spark: SparkSession, tmp_path: Path, name: str, version: str, kind: str
) -> None:
    form, path = FORMS[name], tmp_path / "t"
    write(spark, path, form, version, kind)
    if form.opened:
        rows = rows_of(spark, form, (1, 3, "b"))
        for use in (
            lambda: load(spark, path).count(),
            lambda: save(rows, path, {}),
            lambda: Table.load(spark, str(path)),
        ):
            nothing_is_written(path, use, form.opened)
        return
    table = Table.load(spark, str(path))
    uses = Uses(table, form)
    ways = {
        "read": [lambda: table.df().collect(), lambda: table.changes().collect()],
        "write": [lambda: uses.upsert(3)],
        "upgrade": [table.services.upgrade] if version != "9" else [],
    }
    for way, actions in ways.items():
        condition = getattr(form, way)
        for action in actions if condition else []:
            nothing_is_written(path, action, condition)
    assert {problem.check for problem in table.inspect.verify().problems} == form.found
    if form.repair:
        form.repair(table)
    elif form.read:
        return
    uses.read()
    uses.history(kind)
    upgrades = version != "9" and (form.repair or not form.upgrade)
    is_first = upgrades and number_of(f"{name} {version} {kind} {SEED}") % 2
    if is_first:
        table.services.upgrade()
        uses.read()
    if form.write and not form.repair:
        return
    uses.verified()
    uses.upsert(4)
    uses.read()
    uses.statements()
    uses.read()
    if kind == MOR:
        table.compact()
    table.services.cluster()
    uses.verified()
    if upgrades and not is_first:
        table.services.upgrade()
    uses.upsert(5)
    uses.read()
    uses.verified()


def nothing_is_written(path: Path, action: Callable[[], object], condition: str) -> None:
    before = listing(path)
    refused(action, condition)
    assert listing(path) == before
