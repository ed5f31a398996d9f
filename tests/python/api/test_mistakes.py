"""Mistakes of a first day: each is answered with a sentence whose remedy works."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import merganser
from merganser import Table

COLUMNS = "id string, n int, ts long"


def refusal(error: type[BaseException], call: Callable[[], object]) -> str:
    """What a call is refused with: a sentence or a few."""
    with pytest.raises(error) as raised:
        call()
    assert len(str(raised.value)) < 450
    return str(raised.value)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    table = Table.create(spark, tmp_path / "t", COLUMNS, record_key="id", ordering_by="ts")
    table.upsert([("a", 1, 1)])
    return table


def test_the_error_for_a_wrong_session_or_builder_shows_the_right_call(spark: SparkSession, table: Table) -> None:
    for call in (lambda: Table.load(None, table.path), lambda: Table.create(None, "/x", COLUMNS)):  # type: ignore[arg-type]
        assert "spark = merganser.session('my job') returns, not None" in refusal(TypeError, call)
    assert Table.load(merganser.session("my job"), table.path).count() == 1
    message = refusal(TypeError, lambda: merganser.configure(spark))  # type: ignore[arg-type]
    assert "merganser.configure(SparkSession.builder).getOrCreate()" in message
    assert merganser.configure(SparkSession.builder).getOrCreate().range(1).count() == 1


def test_the_error_for_a_python_function_as_rule_shows_the_rule_to_write(spark: SparkSession, tmp_path: Path) -> None:
    def create(rule: Any, name: str = "refused") -> Table:
        return Table.create(spark, tmp_path / name, COLUMNS, record_key="id", ordering_by="ts", rule=rule)

    column = refusal(TypeError, lambda: create({"n": lambda old, new: old + new}))
    whole = refusal(TypeError, lambda: create(lambda old, new: {"n": old.n + new.n}))
    texts = [re.search(r"\"(expr\('.*'\))\"", column)[1]]  # type: ignore[index]
    rules = [{"n": text} for text in texts]
    rules += [eval(re.search(r"rule=(merganser\.rule\(.*\}\))$", text)[1]) for text in (column, whole)]  # type: ignore[index]
    for number, rule in enumerate(rules):
        summed = create(rule, f"t{number}")
        for ts in (1, 2):
            summed.upsert([("a", ts, ts)])
        assert [row.n for row in summed.df().collect()] == [3]


def test_the_error_for_a_tilde_or_drive_in_a_path_shows_a_valid_path(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"hoodie.datasource.write.recordkey.field": "id"}
    frame = spark.range(1)
    for path, reason in (
        ("~/lake", "'~' was not replaced"),
        (r"C:\lake\t", "a Windows drive"),
        ("D:/t", "a Windows drive"),
    ):
        ways: list[Callable[[], object]] = [
            lambda path=path: Table.create(spark, path, COLUMNS, record_key="id"),
            lambda path=path: Table.load(spark, path),
            lambda path=path: frame.write.format("merganser").options(**key).mode("append").save(path),
            lambda path=path: spark.read.format("merganser").load(path),
        ]
        if "\\" not in path:  # Spark itself refuses that in a LOCATION
            location = f"USING merganser LOCATION '{path}'"
            ways.append(lambda location=location: spark.sql(f"CREATE TABLE drives (id INT) {location}"))
        for call in ways:
            message = refusal(merganser.MerganserError, call)
            assert message.startswith("[PATH_INVALID]")
            assert reason in message
            assert "os.path.expanduser" in message
    monkeypatch.setenv("HOME", str(tmp_path))
    made = Table.create(spark, os.path.expanduser("~/lake"), COLUMNS, record_key="id")
    assert (tmp_path / "lake" / ".hoodie").is_dir()
    assert made.count() == 0


def test_create_table_over_a_table_of_other_columns_is_refused_with_the_columns_to_declare(
    spark: SparkSession, table: Table
) -> None:
    create = f"USING merganser LOCATION '{table.path}'"
    for columns in ("(id STRING, other INT)", "(id STRING, n INT)", "(id STRING, n STRING, ts BIGINT)"):
        message = refusal(
            merganser.ConfigurationConflictError,
            lambda columns=columns: spark.sql(f"CREATE TABLE over {columns} {create}"),
        )
        assert message.startswith("[COLUMNS_CONFLICT]")
        assert "missingColumns" not in message
    for columns in ("", f"({COLUMNS})"):
        spark.sql(f"CREATE TABLE over {columns} {create}")
        assert spark.table("over").count() == 1
        spark.sql("DROP TABLE over")


def test_a_misspelled_format_or_a_missing_library_is_refused_with_the_remedy(
    spark: SparkSession, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in (
        lambda: spark.read.format("merganzer").load(table.path),
        lambda: spark.range(1).write.format("Merganserr").save("/nowhere"),
    ):
        assert 'format("merganser")' in refusal(merganser.MerganserError, call)
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        spark.read.format("another").load(table.path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install pandas pyarrow. df()" in refusal(ImportError, table.to_pandas)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow. df()" in refusal(ImportError, table.to_arrow)
    assert table.df().count() == 1
    message = refusal(ValueError, lambda: table.history(-1))
    assert "history(1)" in message
    assert "history()[-1]" in message
    assert table.history(1)[0] == table.history()[-1]


def test_the_package_lists_its_public_names_alone(table: Table) -> None:
    assert dir(merganser) == sorted(merganser.__all__)
    assert table.table_type is merganser.TableType.COPY_ON_WRITE
