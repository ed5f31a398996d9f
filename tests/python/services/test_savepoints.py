"""Savepoints keep a state of the table readable: by Python, by SQL and over Spark Connect; docs/undo-yesterday.md."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from frames import frame, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession
from snippets import page_text, snippets

import merganser
from merganser import Table

COLUMNS = "id int, name string, ts bigint"
ONE = {"hoodie.clean.commits.retained": "1"}
PAGE = "docs/undo-yesterday.md"


def upserted(spark: SparkSession, path: Path, times: range, **options: str) -> Table:
    for ts in times:
        save(frame(spark, [(1, f"v{ts}", ts)], COLUMNS), path, {KEY: "id", ORDERING: "ts", **options})
    return Table.load(spark, str(path))


# Guarantee (Repairs and restores): A savepoint keeps its version readable, whatever is cleaned and archived, until it
#   is deleted; each engine respects those of the other, and one that failed half-way can be deleted. Also:
#   test_each_engine_retains_and_deletes_the_savepoints_of_the_other, SavepointsSuite
@pytest.mark.e2e
@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_table_stays_readable_as_of_a_savepoint_until_it_is_deleted(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"} if kind == MOR else {}
    options = {TYPE: kind, **ONE, **inline}
    table = upserted(spark, path, range(3), **options)
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    saved = table.savepoints.create(user="ops", comments="why")
    assert (saved.created_by, saved.comments) == ("ops", "why")
    assert before < saved.created_at < datetime.now(timezone.utc) + timedelta(seconds=1)
    assert saved.files >= 1
    assert table.savepoints.list() == [saved] == [table.savepoints.create(saved.instant)]
    upserted(spark, path, range(3, 8), **options)
    table.clean(options=ONE)
    assert table.df(as_of=saved.instant).first()["name"] == "v2"
    assert table.df().first()["name"] == "v7"
    (row,) = spark.sql(f"CALL show_savepoints(path => '{path}')").collect()
    assert tuple(row) == (saved.instant, "ops", int(saved.created_at.timestamp() * 1000), "why", saved.files)
    assert spark.sql(f"CALL delete_savepoint(path => '{path}')").first()[0] is True
    assert table.savepoints.list() == []
    upserted(spark, path, range(8, 12), **options)
    with pytest.raises(merganser.MerganserError, match="AS_OF_TOO_EARLY"):
        table.df(as_of=saved.instant)


def test_the_error_for_an_unknown_savepoint_lists_the_existing_ones(spark: SparkSession, tmp_path: Path) -> None:
    table = upserted(spark, tmp_path / "t", range(2))
    written = [entry.instant for entry in reversed(table.history())]
    with pytest.raises(merganser.MerganserError, match=rf"SAVEPOINT_INSTANT_UNKNOWN.*{written[1]}"):
        table.savepoints.create("20200101000000000")
    with pytest.raises(merganser.MerganserError, match=r"SAVEPOINT_UNKNOWN.*none"):
        table.savepoints.delete()
    call = f"CALL create_savepoint(path => '{table.path}', commit_time => '{written[0]}', user => 'me')"
    assert spark.sql(call).first()[:3] == (True, written[0], "me")
    table.savepoints.delete(written[0])


def test_the_savepoint_snippets_print_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    python, find, restore, one_write = snippets(PAGE, "python")
    (saves,), (restores,) = (snippets(PAGE, "sql", section) for section in ("Savepoints", "Restore"))
    names: dict[str, object] = {}
    exec(compile(python, PAGE, "exec"), names)
    printed = re.search(r"It prints `([^`]*)`", page_text(PAGE))
    assert printed is not None
    assert capsys.readouterr().out.splitlines()[-1] == printed[1]
    created, shown, deleted = run(spark, saves, path=names["path"])
    assert created[0][0] is True
    assert [row.comments for row in shown] == ["month end", "before the migration"]
    assert deleted[0][0] is True
    saved = names["saved"]
    assert isinstance(saved, merganser.Savepoint)
    planned, none, _ = run(spark, restores, path=names["path"], instant=saved.instant)
    assert (planned[0].commits_lost, none) == (3, [])
    exec(compile(find + restore, PAGE, "exec"), names)
    lost, back = capsys.readouterr().out.splitlines()[-2:]
    restored = re.search(r"Three commits are lost, and the table is back at `([^`]*)`", page_text(PAGE))
    assert restored is not None
    assert (lost.startswith("3 commits are lost"), back) == (True, restored[1])
    assert len(run(spark, restores, path=names["path"], instant=saved.instant)[1]) == 1
    exec(compile(one_write, PAGE, "exec"), names)


def run(spark: SparkSession, statements: str, **values: object) -> list[list[Any]]:
    for name, value in values.items():
        statements = statements.replace("{" + name + "}", str(value))
    return [spark.sql(s).collect() for s in statements.split(";") if s.strip()]
