"""Calls by the names that other packages have, of the page docs/python-compared.md: each error names what is here."""

from __future__ import annotations

import copy
import pickle
import re

import pytest
from places import ROOT

from merganser import Merge, Table, WhenMatchedDelete
from merganser._foreign_names import _OURS

MERGE = Merge(target="t", source="s", on="t.id = s.id")
#: Names in the columns of the others that are no attribute of a table: of readers, of SQL, of whole packages.
ELSEWHERE = {
    "merge", "update", "delete", "overwrite", "upsert", "history", "schema", "refresh", "df.write", "ALTER TABLE",
    "properties", "tableName", "catalog.create_table", "addColumns", "except_cols", "WhenMatched", "WhenNotMatched",
    "DeltaTable", "count", "explain", "partitions", "rollback", "to_pandas", "to_arrow", "tags", "versionAsOf",
    "timestampAsOf", "snapshot_id", "txnAppId", "txnVersion", "commitUser", "delta.__version__", "pyiceberg",
    "pathlib.Path", "create_table_if_not_exists",
}  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "name", "ours"),
    [
        (Table, "forPath", r"Table\.for_path\(spark, path\)"),
        (Table, "isDeltaTable", r"Table\.exists"),
        (Table, "create_table_if_not_exists", r"Table\.create_or_load"),
        (Table.__new__(Table), "vacuum", r"table\.clean\(\)"),
        (Table.__new__(Table), "toDF", r"table\.df\(\)"),
        (Table.__new__(Table), "expire_snapshots", r"table\.clean\(\)"),
        (MERGE, "whenMatchedUpdateAll", r"\.when_matched_update\(\)"),
    ],
)
def test_a_name_of_another_package_is_an_error_that_names_ours(owner: object, name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"has no '{name}': write {ours}"):
        getattr(owner, name)


def test_an_error_inside_of_a_property_is_its_own() -> None:
    with pytest.raises(AttributeError, match="_info"):  # of a table that was never opened
        Table.__new__(Table).name  # noqa: B018


def test_another_missing_name_is_only_missing() -> None:
    with pytest.raises(AttributeError, match=r"Table has no 'nothing'$"):
        Table.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(MERGE, "__wrapped__")
    assert copy.copy(MERGE).clauses == ()
    assert pickle.loads(pickle.dumps(WhenMatchedDelete("s.x"))) is not None


def test_what_is_named_instead_is_there() -> None:
    for text in _OURS.values():
        for owner, name in re.findall(r"\b(Table|table)?\.(\w+)\b", text):
            if owner:
                assert hasattr(Table, name) or name in ("path", "identifier"), text
        for name in re.findall(r"^\.(\w+)", text):
            assert hasattr(Merge, name), text


def test_the_names_on_the_page_of_comparison_are_explained() -> None:
    page = (ROOT / "docs" / "python-compared.md").read_text()
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith("| ")][1:]
    code = [word for row in rows for cell in row for word in re.findall(r"`([^`]+)`", cell)]
    names = {re.split(r"[(]", word)[0].rpartition("().")[2] for word in code}
    short = {name.rpartition(".")[2] for name in names if name not in ELSEWHERE}
    missing = sorted(n for n in short if n.replace("_", "").lower() not in _OURS and not hasattr(Table, n))
    assert missing == []
