"""What tests of stores share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hive_lake import Lake
from metastore import HiveClient, metastore
from pyspark.sql import SparkSession


@pytest.fixture(scope="package")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with metastore(tmp_path_factory.mktemp("metastore")) as uris:
        client = HiveClient(spark, uris)
        yield Lake(spark, uris, client)
        client.close()
