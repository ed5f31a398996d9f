"""Merganser, with the settings that everybody gets."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import IndexType, Table, TableType
from peers.data import KEY, ORDERING
from peers.engine import Engine

TYPES = {"cow": TableType.COPY_ON_WRITE, "mor": TableType.MERGE_ON_READ}
INDEXES = {"simple": IndexType.SIMPLE, "bucket": IndexType.BUCKET}
KINDS: dict[str, dict[str, str]] = {f"{kind}-{index}": {} for kind in TYPES for index in INDEXES}


class Merganser(Engine):
    name = "merganser"
    kinds = KINDS
    decides = True

    @classmethod
    def session(cls, settings: Mapping[str, str], master: str) -> SparkSession:
        return merganser.session(cls.name, master=master, config=settings)

    @property
    def table(self) -> str:
        return self._table.identifier

    def create(self) -> None:
        kind, index = self.kind.split("-")
        self._table = Table.create(
            self.spark,
            self.path,
            self.data.schema,
            record_key=KEY,
            ordering_by=ORDERING,
            table_type=TYPES[kind],
            index=INDEXES[index],
            options={"hoodie.bucket.index.num.buckets": str(self.files)} if index == "bucket" else None,
        )

    def load(self, rows: DataFrame) -> None:
        self._table.bulk_insert(rows)

    def upsert(self, rows: DataFrame) -> None:
        self._table.upsert(rows)

    def rows(self) -> DataFrame:
        return self._table.df()

    def compact(self) -> None:
        self._table.compact()
