"""The forms of tables that earlier releases and other tools have left: keys, paths, times, and what was lost."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
from foreign_tables import Form, Place, commits, rewrite
from option_names import COW

from merganser import Table

HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
NULL = "__HIVE_DEFAULT_PARTITION__"
METADATA = ".hoodie_partition_metadata"

NOON, EVENING = datetime(2024, 1, 5, 12, 0, 0, 789000), datetime(2024, 1, 5, 18, 0, 0, 789000)
MILLIS = 1704456000789, 1704477600789
#: As many microseconds after 1970 as the other two are milliseconds.
IN_1970 = datetime(1970, 1, 20, 17, 27, 36, 789), datetime(1970, 1, 20, 17, 27, 57, 600789)


def keyed(column: str, first: tuple[str, Any], second: tuple[str, Any], **more: Any) -> Form:
    """Without partitions: the key of each place, and the value of the column."""
    places = Place("", (first[1],), first[0]), Place("", (second[1],), second[0])
    return Form(column, places, **{"key": "id,a", "generator": "NON_PARTITION", **more})


def parted(column: str, first: tuple[str, Any], second: tuple[str, Any], **more: Any) -> Form:
    """Partitioned by one column: the path of each place, and the value of the column."""
    places = Place(first[0], (first[1],)), Place(second[0], (second[1],))
    return Form(column, places, **{"partition": column.split()[0], **more})


def timed(kind: str, output: str, column: str, first: tuple[str, Any], second: tuple[str, Any], **more: str) -> Form:
    """Partitioned by one column that a format makes a path of."""
    settings = {"timestamp.type": kind, "output.dateformat": output, **more}
    return parted(column, first, second, generator="TIMESTAMP", properties=of_time(**settings))


def of_time(**settings: str) -> dict[str, str]:
    return {f"hoodie.keygen.timebased.{key}": value for key, value in settings.items()}


def named(**more: Any) -> Form:
    """By the COMPLEX generator with one key column: a key has the name of its column, unless places have others."""
    places = tuple(Place(part, (part,), "id:{id}") for part in "xy")
    return Form("part string", **{"places": places, "partition": "part", "generator": "COMPLEX", **more})


PLAIN = Place("x", ("x",)), Place("y", ("y",))
UNNAMED = {"versions": ("6", "8"), "upgrade": "KEYS_WITHOUT_NAME"}

KEYS: dict[str, Form] = {
    "complex_named": named(),
    "complex_unnamed": named(places=PLAIN, **UNNAMED),
    "complex_mixed": named(places=(Place("x", ("x",), "id:{id}"), PLAIN[1]), write="KEY_FORMS_MIXED", **UNNAMED),
    "complex_upgraded_by_others": named(
        places=PLAIN,
        versions=("9",),
        properties={"hoodie.table.initial.version": "8"},
        write="KEYS_WITHOUT_NAME",
        found=frozenset(["other_key"]),
    ),
    "global_delete": keyed("a int", ("id:{id}", 1), ("id:{id}", 2), key="id", generator="GLOBAL_DELETE"),
    "markers": keyed("a string", ("id:{id},a:__null__", None), ("id:{id},a:__empty__", "")),
    "decimals": keyed("a decimal(6,2)", *((f"id:{{id}},a:{n}", Decimal(n)) for n in ("12.30", "0.00"))),
    "dates": keyed("a date", *((f"id:{{id}},a:2024-01-0{n}", date(2024, 1, n)) for n in (1, 2))),
    "times_as_numbers": keyed(
        "a timestamp", (f"id:{{id}},a:{MILLIS[0]}000", NOON), (f"id:{{id}},a:{MILLIS[1]}000", EVENING)
    ),
    "times_as_strings": keyed(
        "a timestamp", ("id:{id},a:2024-01-05 12:00:00.789", NOON), ("id:{id},a:2024-01-05 18:00:00.789", EVENING)
    ),
    "times_mixed": keyed(
        "a timestamp",
        ("id:{id},a:2024-01-05 12:00:00.789", NOON),
        (f"id:{{id}},a:{MILLIS[1]}000", EVENING),
        write="KEY_FORMS_MIXED",
    ),
    "times_of_another_zone": keyed(
        "a timestamp",
        ("id:{id},a:2024-01-05 21:00:00.789", NOON),
        ("id:{id},a:2024-01-06 03:00:00.789", EVENING),
        write="KEY_IN_OTHER_ZONE",
    ),
}

PATHS: dict[str, Form] = {
    "simple": parted("part string", ("x", "x"), (NULL, None)),
    "simple_slashes": parted("part string", ("2024/01/05", "2024/01/05"), ("2024/01/06", "2024/01/06")),
    "simple_encoded": parted("part string", ("a%2Fb%3Dc", "a/b=c"), ("d e", "d e"), properties=ENCODED),
    "simple_hive": parted("part string", ("part=x y", "x y"), (f"part={NULL}", None), properties=HIVE),
    "simple_hive_encoded": parted(
        "part string", ("part=a%3Ab", "a:b"), ("part=%25", "%"), properties={**HIVE, **ENCODED}
    ),
    "dates": parted("day date", ("2024-01-05", date(2024, 1, 5)), ("2024-01-06", date(2024, 1, 6))),
    "decimals": parted("part decimal(6,2)", ("12.30", Decimal("12.30")), ("0.00", Decimal("0.00"))),
    "booleans": parted("part boolean", ("part=true", True), ("part=false", False), properties=HIVE),
    "complex": Form(
        "a string, b int",
        (Place("x/1", ("x", 1), "id:{id}"), Place(f"{NULL}/2", (None, 2), "id:{id}")),
        key="id",
        partition="a,b",
        generator="COMPLEX",
    ),
    "times_in_frames": parted("at timestamp", (f"{MILLIS[0]}000", NOON), (f"{MILLIS[1]}000", EVENING)),
    "times_in_frames_as_strings": parted(
        "at timestamp", ("2024-01-05 12:00:00.789", NOON), ("2024-01-05 18:00:00.789", EVENING)
    ),
    "times_in_statements": parted(
        "at timestamp", ("at=2024-01-05 12%3A00%3A00", NOON), ("at=2024-01-05 18%3A00%3A00", EVENING), properties=HIVE
    ),
    "times_mixed": parted(
        "at timestamp",
        ("at=2024-01-05 12%3A00%3A00", NOON),
        (f"at={MILLIS[1]}000", EVENING),
        properties=HIVE,
        write="PATH_FORMS_MIXED",
    ),
    "times_of_another_zone": parted(
        "at timestamp",
        ("at=2024-01-05 21%3A00%3A00", NOON),
        ("at=2024-01-06 03%3A00%3A00", EVENING),
        properties=HIVE,
        write="PATH_IN_OTHER_ZONE",
    ),
    "milliseconds": timed(
        "EPOCHMILLISECONDS", "yyyy/MM/dd", "at bigint", ("2024/01/05", MILLIS[0]), ("1970/01/01", None)
    ),
    "microseconds": timed(
        "EPOCHMICROSECONDS", "yyyyMMddHH", "at bigint", ("2024010512", MILLIS[0] * 1000), ("1970010100", 0)
    ),
    "seconds": timed(
        "UNIX_TIMESTAMP",
        "yyyy-MM-dd HH",
        "at bigint",
        ("2024-01-05 20", MILLIS[0] // 1000),
        ("2024-01-06 02", MILLIS[1] // 1000),
        **{"output.timezone": "GMT+8:00"},
    ),
    "days": timed(
        "SCALAR",
        "yyyyMMdd",
        "at int",
        ("20240102", 19724),
        ("20240103", 19725),
        **{"timestamp.scalar.time.unit": "days"},
    ),
    "strings": timed(
        "DATE_STRING",
        "yyyy/MM",
        "at string",
        ("2024/02", "2024-01-31T23:30:00-0100"),
        ("2024/03", "2024-03-04"),
        **{"input.dateformat": "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd", "input.timezone": "UTC"},
    ),
    "mixed": timed(
        "MIXED",
        "yyyyMMdd",
        "at string",
        ("20240131", "2024-01-31"),
        ("20240304", "2024-03-04"),
        **{"input.dateformat": "yyyy-MM-dd"},
    ),
    "timestamps": timed("EPOCHMILLISECONDS", "HH", "at timestamp", ("12", NOON), ("18", EVENING)),
    **{
        f"{kind.lower()}_that_statements_made_a_string": timed(
            kind, "yyyy-MM-dd", "at string", ("2023-11-14", str(1700000000 * unit)), ("1970-01-02", str(86400 * unit))
        )
        for kind, unit in (("UNIX_TIMESTAMP", 1), ("EPOCHMILLISECONDS", 1000), ("SCALAR", 1))
    },
}


def custom(partition: str, settings: bool = True, **more: Any) -> Form:
    places = Place("north/2024", ("north", MILLIS[0])), Place("south/1970", ("south", 0))
    properties = {"timestamp.type": "EPOCHMILLISECONDS", "output.dateformat": "yyyy"} if settings else {}
    return Form(
        "region string, at bigint",
        places,
        partition=partition,
        generator="CUSTOM",
        properties=of_time(**properties),
        **more,
    )


PATHS |= {
    "custom": custom("region:SIMPLE,at:TIMESTAMP"),
    "custom_without_format": custom("region:SIMPLE,at:TIMESTAMP", settings=False, write="TIMESTAMP_FORMAT_MISSING"),
    "custom_without_kinds": custom("region,at", write="PARTITION_KIND_UNKNOWN", versions=("6",)),
    "class_of_a_user": parted(
        "part string",
        ("of x", "x"),
        ("of y", "y"),
        generator="USER_PROVIDED",
        properties={"hoodie.table.keygenerator.class": "com.example.OwnKeys"},
        write="KEY_GENERATOR_UNSUPPORTED",
    ),
    "slashed_dates": parted(
        "day string",
        ("2024/01/02", "2024-01-02"),
        ("2024/02/01", "2024-02-01"),
        properties={"hoodie.datasource.write.slash.separated.date.partitioning": "true"},
        versions=("9",),
    ),
}


def of_times(kind: str, stored: str, written: tuple[Any, Any], schema: tuple[tuple[str, str], ...]) -> Form:
    """Times that are no part of keys and paths: in a column, in a struct and in an array."""
    first, second = (
        Place("", (t, (t,), [t]), stored=(w, (w,), [w])) for t, w in zip((NOON, EVENING), written, strict=True)
    )
    columns, as_written = (f"at {type}, s struct<at:{type}>, a array<{type}>" for type in (kind, stored))
    return Form(columns, (first, second), generator="NON_PARTITION", stored=as_written, schema=schema)


def local(unit: str) -> tuple[tuple[str, str], ...]:
    """Plain integers in a schema, and the same as local times."""
    time = f'["null",{{"type":"long","logicalType":"local-timestamp-{unit}"}}]'
    return tuple((f'{place}["null","long"]', f"{place}{time}") for place in ('"at","type":', '"items":'))


TIMES: dict[str, Form] = {
    "milliseconds_labelled_micros": of_times(
        "timestamp", "timestamp", IN_1970, (("timestamp-micros", "timestamp-millis"),)
    ),
    "local_milliseconds": of_times("timestamp_ntz", "bigint", MILLIS, local("millis")),
    "local_microseconds": of_times("timestamp_ntz", "bigint", (MILLIS[0] * 1000, MILLIS[1] * 1000), local("micros")),
}


def metadata_of(path: Path) -> list[Path]:
    return sorted(path.rglob(METADATA))


def metadata_in_parquet(path: Path) -> None:
    """The metadata of partitions in the footer of a Parquet file, by a setting of Hudi's."""
    for file in metadata_of(path):
        pairs = dict(line.split("=") for line in file.read_text().splitlines() if "=" in line)
        empty = arrow.schema([arrow.field("dummy", arrow.int32())], metadata=pairs).empty_table()
        pyarrow.parquet.write_table(empty, file.with_name(f"{METADATA}.parquet"))
        file.unlink()


def metadata_lost(path: Path) -> None:
    """Of one partition."""
    metadata_of(path)[0].unlink()


def kept(path: Path) -> Path:
    """Where a commit is that was removed from the table."""
    return path.parent / f"kept_of_{path.name}"


def commit_lost(path: Path) -> None:
    """The first one, onto whose files the second one has written."""
    first = commits(path)[0]
    kept(path).mkdir()
    (kept(path) / "state").write_text(str(first))
    first.rename(kept(path) / "commit")


def commit_in_the_wrong_place(path: Path) -> None:
    """The first one is in the folder of the other layout of timelines."""
    first = commits(path)[0]
    commit_lost(path)
    other = path / ".hoodie" / ("" if first.parent.name == "timeline" else "timeline")
    other.mkdir(exist_ok=True)
    (other / first.name).write_bytes((kept(path) / "commit").read_bytes())


def commit_back(table: Table) -> None:
    folder = kept(Path(table.path.removeprefix("file:")))
    (folder / "commit").rename((folder / "state").read_text())


def external_names(path: Path) -> None:
    """As XTable and UniForm call the files of another format."""
    names = [str(file.relative_to(path)) for file in path.rglob("*.parquet")]
    for commit in commits(path):
        for name in names:
            rewrite(commit, (name, f"{name}_20240101000000000_hudiext"))


def lost(read: str, found: str, write: str | None = None, **more: Any) -> Form:
    """A table of which something is gone; its places have the names that sort last and first."""
    conditions = {"read": read, "write": write or read, "upgrade": write or read}
    return parted("part string", ("x", "x"), ("w", "w"), found=frozenset([found]), **conditions, **more)


LOSSES: dict[str, Form] = {
    "metadata_in_parquet": parted(
        "part string",
        ("x", "x"),
        ("y", "y"),
        damage=metadata_in_parquet,
        properties={"hoodie.partition.metafile.use.base.format": "true"},
    ),
    "metadata_lost": lost(
        "PARTITION_METADATA_MISSING",
        "partition_metadata",
        damage=metadata_lost,
        repair=lambda table: table.repairs.add_partition_metadata(),
    ),
    "commit_lost": lost("COMMIT_LOST", "unreadable_file", damage=commit_lost, repair=commit_back),
    "commit_in_the_wrong_place": lost(
        "COMMIT_LOST",
        "unreadable_file",
        write="COMMIT_MISPLACED",
        damage=commit_in_the_wrong_place,
        repair=commit_back,
    ),
    "external_names": parted(
        "part string",
        ("x", "x"),
        ("w", "w"),
        kinds=(COW,),
        damage=external_names,
        opened="TABLE_FEATURE_UNREADABLE",
    ),
}

FORMS: dict[str, Form] = {
    f"{group}-{name}": form
    for group, forms in {"keys": KEYS, "paths": PATHS, "times": TIMES, "losses": LOSSES}.items()
    for name, form in forms.items()
}
