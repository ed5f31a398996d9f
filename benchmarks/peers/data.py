"""A table, batches of changes to it, and what it has to hold after each of them, by plain Spark.

They are made once, as Parquet files, and are the same for all engines. A stored row has `ts` 1,000,000; a row of change
n has a `ts` n above that, a late-arriving one n below it. So no two versions of a key tie but those that a batch sends
twice, which are equal.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import lineitem
from lineitem import checksum
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.sql.window import Window

KEY, ORDERING, OTHER_KEY = "id", "ts", "serial"
TWO_COLUMNS = ["quantity", "note"]
THREE_COLUMNS = [KEY, "quantity", "shipped"]

CHANGED = 0.05  # of the table's rows, a batch
LATE, NEW, DOUBLED = 0.2, 0.01, 0.01  # of a batch's rows
MORE, MORE_CHANGED = 10, 0.01  # later batches, and their share of the table's rows
FEW = 1000
STORED = 1_000_000
NEW_NUMBERS = 1_000_000_000  # above those of all stored rows


@dataclass(frozen=True)
class DataSet:
    """A table's form: its rows at scale 1, the key of row `n` as SQL, and its number of further columns."""

    rows: int
    key: str = "n"
    more_columns: int = 0
    generated: bool = False
    """Whether TPC-H's generator makes the rows, at the scale that it is given."""


DATA = {
    "narrow": DataSet(2_000_000),
    "wide": DataSet(400_000, more_columns=89),
    "text-keys": DataSet(2_000_000, key="md5(string(n))"),
    "lineitem": DataSet(6_001_215, generated=True),
}

#: Columns of lineitem that have the name of the same column in the other tables.
LINEITEM = {"l_quantity": "quantity", "l_shipdate": "shipped", "l_comment": "note"}


@dataclass(frozen=True)
class Change:
    """A change of the table: what the report calls it, how it is made, and the name of its batch or keys."""

    work: str
    how: str
    name: str


SHARE = f"{CHANGED * 100:g} %"
RANDOM = f"upsert of {SHARE}, keys at random"
LATER = f"upsert of {MORE_CHANGED * 100:g} %, keys at random"
CHANGES = [
    *(Change(RANDOM, "upsert", f"random-{number}") for number in (1, 2, 3)),
    Change("upsert of 1 % of the keys, all neighbours", "upsert", "near"),
    Change("upsert of new keys alone, 1 %", "upsert", "new"),
    Change(f"upsert of {FEW:,} rows", "upsert", "few"),
    Change(f"SQL MERGE of {SHARE} on the key", "merge", "statement"),
    Change("SQL UPDATE of 100 rows", "update", "updated"),
    Change("SQL DELETE of 100 rows", "delete", "deleted"),
    *(Change(LATER, "upsert", f"more-{number}") for number in range(1, MORE + 1)),
]
#: Changes that an engine may refuse or compute wrongly.
OPTIONAL = [
    Change(f"SQL MERGE of 2 columns of {SHARE} on the key", "merge_columns", "columns"),
    Change(f"SQL MERGE of 2 columns of {SHARE} on another column", "merge_columns", "other"),
]
SMALL_UPSERTS = 100


@dataclass(frozen=True)
class Facts:
    """What is known of the files of a data set."""

    rows: int
    size_bytes: int
    schema: dict[str, Any]
    keys: dict[str, list[Any]]
    """Keys of the statements that name them, and of the read of one."""
    results: dict[str, list[int]]
    """By change: the rows of the table that has it and all before it, and their checksum."""


class Data:
    """The files of a data set below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = Facts(**json.loads((folder / "facts.json").read_text()))
        self.schema = StructType.fromJson(self.facts.schema)

    def rows(self, spark: SparkSession, name: str = "loaded") -> DataFrame:
        """The loaded rows or those of a batch; their schema is given, so that no job runs to find it."""
        return spark.read.schema(_schema(self.schema, name)).parquet(str(self.folder / name))

    def ddl(self) -> str:
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in self.schema)

    def keys(self, name: str) -> str:
        """The keys of a statement as a list of SQL."""
        return ", ".join(repr(key) for key in self.facts.keys[name])


def _schema(schema: StructType, batch: str) -> StructType:
    """The columns of a batch: some have a key and two further columns alone."""
    found = {"columns": KEY, "other": OTHER_KEY}.get(batch)
    return StructType([schema[name] for name in (found, ORDERING, *TWO_COLUMNS)]) if found else schema


def make(spark: SparkSession, folder: Path, kind: str, scale: float, files: int) -> Data:
    """Make a data set below a folder."""
    of = DATA[kind]
    rows = _rows(_numbered(spark, folder, of, scale), of, "0L", f"{STORED}L")
    rows.repartitionByRange(files, KEY).sortWithinPartitions(KEY).write.parquet(str(folder / "loaded"))
    state = spark.read.parquet(str(folder / "loaded"))
    schema = state.schema
    picked = [row[0] for row in state.select(KEY).orderBy(F.xxhash64(KEY)).limit(201).collect()]
    keys = {"updated": picked[:100], "deleted": picked[100:200], "one": picked[200:]}
    results = {"loaded": list(checksum(state))}
    for number, change in enumerate([*CHANGES, *OPTIONAL], 1):
        if change.how in ("update", "delete"):
            batch = spark.createDataFrame([(key,) for key in keys[change.name]], StructType([schema[KEY]]))
        else:
            made = _batch(spark.read.parquet(str(folder / "loaded")), of, change.name, number)
            made.select(_schema(schema, change.name).names).write.parquet(str(folder / change.name))
            batch = spark.read.parquet(str(folder / change.name))
        after = folder / "results" / change.name
        _changed(state, change, batch).select(schema.names).write.parquet(str(after))
        state = spark.read.parquet(str(after))
        results[change.name] = list(checksum(state))
    facts = Facts(results["loaded"][0], lineitem.size_of(folder / "loaded"), schema.jsonValue(), keys, results)
    (folder / "facts.json").write_text(json.dumps(asdict(facts)))
    return Data(folder)


def newest(rows: DataFrame, key: str = KEY) -> DataFrame:
    """Of each key the version with the largest ordering value."""
    return rows.groupBy(key).agg(F.max_by(F.struct(*rows.columns), ORDERING).alias("row")).select("row.*")


def _numbered(spark: SparkSession, folder: Path, of: DataSet, scale: float) -> DataFrame:
    """A number `n` for each row to load; for generated rows also their columns."""
    if not of.generated:
        return spark.range(int(of.rows * scale)).selectExpr("id AS n")
    lineitem.run_generator(folder / "generated", scale)
    rows = spark.read.parquet(str(folder / "generated" / "lineitem.parquet"))
    return rows.withColumnsRenamed(LINEITEM).withColumn("n", F.expr("l_orderkey * 8 + l_linenumber"))


def _rows(numbers: DataFrame, of: DataSet, version: str, ordering: str) -> DataFrame:
    """Rows of some numbers `n`; version and ordering value are SQL."""
    if of.generated:
        return numbers.selectExpr(
            f"n AS {KEY}",
            f"{ordering} AS {ORDERING}",
            f"n AS {OTHER_KEY}",
            f"CAST(quantity + {version} AS DECIMAL(15, 2)) AS quantity",
            f"IF({version} = 0, note, concat(note, ' ', {version})) AS note",
            "shipped",
            *(name for name in numbers.columns if name.startswith("l_")),
        )
    kinds = ("n % ({k} + 2) * 1000 + {v}", "n * 0.5D + {k} + {v}", "concat('word ', (n + {k} + {v}) % 5000)")
    more = (f"{kinds[k % 3].format(k=k, v=version)} AS c{k}" for k in range(of.more_columns))
    return numbers.selectExpr(
        f"{of.key} AS {KEY}",
        f"{ordering} AS {ORDERING}",
        f"n AS {OTHER_KEY}",
        f"int(n % 1000 + {version}) AS quantity",
        f"n * 0.25D + {version} AS price",
        f"CAST((n % 1000000 + {version}) / 4 AS DECIMAL(12, 2)) AS amount",
        "date_add(DATE'2024-01-01', int(n % 700)) AS shipped",
        f"timestamp_seconds(1700000000L + n % 10000000 + {version}) AS recorded",
        f"concat('city ', (n + {version}) % 200) AS city",
        f"md5(concat('text', n, {version})) AS text",
        f"concat('note ', sha1(string(n + {version}))) AS note",
        *more,
    )


def _batch(loaded: DataFrame, of: DataSet, name: str, number: int) -> DataFrame:
    """The rows of a change, in random order."""
    ordering, version = f"{STORED + number}L", f"{number}L"
    numbers = loaded.withColumn("n", F.col(OTHER_KEY))
    if name == "near":
        hundredths = numbers.withColumn("hundredth", F.ntile(100).over(Window.orderBy(KEY)))
        chosen = hundredths.where("hundredth = 50")
    elif name == "new":
        chosen = numbers.where("n % 100 = 0").withColumn("n", F.col("n") + NEW_NUMBERS * number)
    elif name == "few":
        chosen = numbers.orderBy(F.rand(number)).limit(FEW)
    else:
        share = MORE_CHANGED if name.startswith("more") else CHANGED
        chosen = numbers.where(F.rand(number) < share).withColumn("roll", F.rand(100 + number))
        ordering = f"IF(roll < {LATE}, {STORED - number}L, {STORED + number}L)"
        if name not in ("columns", "other"):  # these change stored rows alone, each once
            chosen = chosen.withColumn("n", F.expr(f"IF(roll >= {1 - NEW}, n + {NEW_NUMBERS * number}, n)"))
            copies = f"sequence(1, IF(roll BETWEEN 0.5 AND {0.5 + DOUBLED}, 2, 1))"
            chosen = chosen.withColumn("copy", F.expr(f"explode({copies})"))
    return _rows(chosen, of, version, ordering).repartition(2, F.rand(200 + number))


def _changed(state: DataFrame, change: Change, batch: DataFrame) -> DataFrame:
    """What a table holds after a change."""
    if change.how == "delete":
        return state.join(batch, KEY, "left_anti")
    if change.how == "update":
        named = batch.withColumn("named", F.lit(True))
        return state.join(named, KEY, "left").withColumn("quantity", F.expr("IF(named, quantity + 1, quantity)"))
    if change.how == "merge_columns":
        key = _schema(state.schema, change.name).names[0]
        sent = batch.select(key, *(F.col(name).alias(f"new_{name}") for name in (ORDERING, *TWO_COLUMNS)))
        won = f"new_{ORDERING} >= {ORDERING}"
        values = {name: F.expr(f"IF({won}, new_{name}, {name})") for name in (ORDERING, *TWO_COLUMNS)}
        return state.join(sent, key, "left").withColumns(values)
    return newest(state.unionByName(batch))


def main(folder: str, kind: str, scale: str, files: str, memory: str) -> None:
    settings = {
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": files,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[*]").appName("data").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    make(spark, Path(folder), kind, float(scale), int(files))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
