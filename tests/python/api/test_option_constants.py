"""Names and values of options as constants: ``merganser.options``, and ``io.merganser.Options`` in the jar."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import merganser
from merganser import IndexType, MergeMode, MissingColumns, TableType, options


@pytest.mark.parametrize(
    ("members", "constants"),
    [
        (TableType, options.TableType),
        (MergeMode, options.MergeMode),
        (IndexType, options.IndexType),
        (MissingColumns, options.MissingColumns),
    ],
    ids=lambda each: each.__name__,
)
def test_an_enumeration_has_every_value_of_its_option(members: type[Enum], constants: type) -> None:
    values = {name: value for name, value in vars(constants).items() if name.isupper()}
    assert {member.name: member.value for member in members} == values


def test_a_job_writes_a_table_with_names_and_values_from_constants(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    settings = {
        options.TABLE_NAME: "trips",
        options.TABLE_TYPE: options.TableType.MERGE_ON_READ,
        options.RECORD_KEY: "id",
        options.ORDERING_FIELDS: "ts",
        options.INDEX_TYPE: options.IndexType.BUCKET,
        options.BUCKET_COUNT: "2",
        options.OPERATION: options.Operation.UPSERT,
    }
    spark.createDataFrame([(1, 1), (2, 1)], "id int, ts bigint").write.format("merganser").options(**settings).mode(
        "append"
    ).save(path)
    read = spark.read.format("merganser").option(options.QUERY_TYPE, options.QueryType.SNAPSHOT).load(path)
    assert read.count() == 2
    assert merganser.Table.load(spark, path).record_key == ("id",)
    in_the_jar = spark._jvm.io.merganser.Options  # type: ignore[union-attr]
    assert in_the_jar.RECORD_KEY == options.RECORD_KEY
