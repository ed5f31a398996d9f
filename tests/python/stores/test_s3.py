"""Tables in S3 by ``s3a``: conditional creates of commits and locks, Hudi's storage-based lock, faults."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hudi_lock import hudi_lock, hudi_settings
from pyspark.sql import SparkSession
from s3_server import S3Server, s3_server
from session_process import SessionError, SessionProcess

from interop.hudi_session import read_table, write_table
from interop.merganser_engine import MerganserEngine

SCHEMA = "id int, value string, ts bigint, part string"
LAKE = "lake"
#: A bucket whose S3A creates nothing on condition, as all did before Hadoop 3.4.2.
PLAIN = "plain"

COW = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
MOR = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
OPTIONS = {
    "hoodie.table.name": "stored",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
}
SEVERAL = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
}
STORAGE_LOCK = {
    **SEVERAL,
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider",
    "hoodie.write.lock.storage.validity.timeout.secs": "10",
    "hoodie.write.lock.storage.renew.interval.secs": "1",
}
LOCK = ".hoodie/.locks/table_lock.json"


# --- in the sessions' processes --------------------------------------------------------------------------------------


def write(spark: SparkSession, path: str, rows: list[list[Any]], options: dict[str, str], operation: str) -> None:
    MerganserEngine(spark).write(path, SCHEMA, rows, operation=operation, options=options)


def read(spark: SparkSession, path: str) -> list[list[Any]]:
    rows: list[list[Any]] = MerganserEngine(spark).read(path).business
    return rows


def compact(spark: SparkSession, path: str) -> None:
    spark.sql(f"CALL run_compaction(op => 'scheduleAndExecute', path => '{path}')").collect()


def hudi_write(spark: SparkSession, path: str, rows: list[list[Any]], options: dict[str, str]) -> None:
    write_table(spark, path, SCHEMA, rows, options=options)


def hudi_read(spark: SparkSession, path: str) -> list[list[Any]]:
    return sorted(row[5:] for row in read_table(spark, path)["rows"])


def version(spark: SparkSession) -> str:
    jvm: Any = spark._jvm
    return str(jvm.org.apache.hadoop.util.VersionInfo.getVersion())


# --- the tests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Store:
    """The server and two writers, each in a process of its own."""

    server: S3Server
    sessions: tuple[SessionProcess, SessionProcess]

    def upsert(self, path: str, rows: list[list[Any]], writer: int = 0, **options: str) -> None:
        self.sessions[writer].call(write, path=path, rows=rows, options={**OPTIONS, **options}, operation="upsert")

    def read(self, path: str) -> list[list[Any]]:
        return sorted(self.sessions[0].call(read, path=path))

    def lock(self, table: str) -> dict[str, Any]:
        body = self.server.client.get_object(Bucket=LAKE, Key=f"{table}/{LOCK}")["Body"].read()
        found: dict[str, Any] = json.loads(body)
        return found

    def put_lock(self, table: str, **content: Any) -> None:
        self.server.client.put_object(Bucket=LAKE, Key=f"{table}/{LOCK}", Body=json.dumps(content).encode())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("s3")
    with s3_server(LAKE, PLAIN) as server, ThreadPoolExecutor(2) as pool:
        settings = {**server.settings, f"spark.hadoop.fs.s3a.bucket.{PLAIN}.create.conditional.enabled": "false"}
        started = [pool.submit(SessionProcess, folder / name, "local[2]", settings) for name in ("first", "second")]
        sessions = (started[0].result(), started[1].result())
        try:
            yield Store(server, sessions)
        finally:
            for session in sessions:
                session.close()


def rows_at(ts: int, count: int = 20) -> list[list[Any]]:
    return [[i, f"{i} at {ts}", ts, f"p{i % 2}"] for i in range(count)]


# Guarantee (Concurrent writers): In S3 commits and locks are conditional creates, and a lost response neither fails a
#   write nor repeats it; where `s3a` lacks them, several writers are refused. Also:
#   test_a_lost_response_of_the_store_neither_fails_nor_repeats_the_write,
#   test_without_conditional_puts_in_s3a_several_writers_are_refused_and_a_single_one_works
@pytest.mark.parametrize("kind", ["cow", "mor"] if os.environ.get("MERGANSER_FULL") else ["mor"])
def test_writes_and_compactions_in_s3_create_commits_by_conditional_puts(store: Store, kind: str) -> None:
    path, options = f"s3a://{LAKE}/{kind}", COW if kind == "cow" else MOR
    store.server.requests()
    for ts in (1, 2, 3):
        store.upsert(path, rows_at(ts), **options)
    store.sessions[0].call(write, path=path, rows=rows_at(4, 5), options={**OPTIONS, **options}, operation="delete")
    assert store.read(path) == rows_at(3)[5:]
    if kind == "mor":
        store.sessions[0].call(compact, path=path)
        assert store.read(path) == rows_at(3)[5:]
    requests = store.server.requests()
    creates = [r for r in requests if r["method"] == "PUT" and f"/{kind}/.hoodie/timeline/" in r["path"]]
    creates = [r for r in creates if not r["path"].endswith(("/", "/history"))]
    assert len(creates) >= 12
    assert {r["if-none-match"] for r in creates} == {"*"}
    locks = [r for r in requests if r["method"] == "PUT" and r["path"].endswith("/.hoodie/lock")]
    assert len(locks) >= 8
    assert {r["if-none-match"] for r in locks} == {"*"}
    left = store.server.objects(LAKE, f"{kind}/")
    files = [key for key in left if not key.endswith("/")]
    assert not [key for key in files if "/.hoodie/.temp/" in key or key.endswith("/lock")]
    data = [key for key in files if "/.hoodie/" not in key and key.endswith(".parquet")]
    assert len(data) == (8 if kind == "cow" else 4), "a base file for each commit and partition"


def test_two_concurrent_writers_under_hudis_storage_based_lock_lose_no_row(store: Store) -> None:
    path = f"s3a://{LAKE}/both"
    retries = {"hoodie.write.num.retries.on.conflict.failures": "20"}
    store.upsert(path, [[i, "old", 1, "p0"] for i in range(4)], **COW, **STORAGE_LOCK)

    def write_own(writer: int) -> None:
        for ts in (2, 3, 4):
            rows = [[100 * (writer + 1) + ts, "new", ts, "p0"], [writer, f"{writer} at {ts}", ts, "p0"]]
            store.upsert(path, rows, writer, **COW, **STORAGE_LOCK, **retries)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write_own, (0, 1)))
    new = [[100 * writer + ts, "new", ts, "p0"] for writer in (1, 2) for ts in (2, 3, 4)]
    found = store.read(path)
    assert sorted(row for row in found if row[0] >= 100) == sorted(new)
    assert [row for row in found if row[0] in (0, 1)] == [[0, "0 at 4", 4, "p0"], [1, "1 at 4", 4, "p0"]]
    puts = [r for r in store.server.requests() if r["method"] == "PUT" and r["path"].endswith(LOCK)]
    assert [r["if-none-match"] for r in puts].count("*") >= 1
    assert all(r["if-match"] or r["if-none-match"] for r in puts), "each version of the lock is written on condition"
    assert store.lock("both")["expired"]


def test_a_write_waits_until_hudis_storage_based_lock_expires(store: Store) -> None:
    path = f"s3a://{LAKE}/locked"
    store.upsert(path, rows_at(1), **COW, **STORAGE_LOCK)
    ours = store.lock("locked")
    assert set(ours) == {"expired", "validUntil", "owner"}
    assert ours["expired"] is True
    until = int(time.time() * 1000) + 2000
    store.put_lock("locked", expired=False, validUntil=until, owner="of Hudi")
    store.upsert(path, rows_at(2), **COW, **STORAGE_LOCK)
    assert time.time() * 1000 > until, "the write began after the other lock had expired"
    store.put_lock("locked", expired=False, validUntil=until + 600_000, owner="of Hudi")
    with pytest.raises(SessionError, match=r"LOCK_TIMEOUT(.|\n)*owner of Hudi"):
        store.upsert(path, rows_at(3), **COW, **STORAGE_LOCK, **{"hoodie.write.lock.wait_time_ms": "500"})
    assert store.lock("locked")["owner"] == "of Hudi"
    store.put_lock("locked", expired=True, validUntil=until, owner="of Hudi")
    store.upsert(path, rows_at(4), **COW, **STORAGE_LOCK)
    assert store.read(path) == rows_at(4)


# Guarantee (Concurrent writers): Hudi's lock providers and ours exclude each other: writers of both engines, in turn
#   and at once on the same file groups, lose and double no row. Also:
#   test_two_concurrent_writers_under_hudis_storage_based_lock_lose_no_row,
#   test_a_write_waits_until_hudis_storage_based_lock_expires, StoragesSuite,
#   test_writers_of_both_engines_in_turn_and_concurrently_lose_and_duplicate_no_row,
#   test_both_engines_use_one_lock_file_and_wait_for_each_other,
#   test_concurrent_writes_of_both_engines_are_all_committed
def test_hudis_own_storage_based_lock_and_ours_exclude_each_other(store: Store, tmp_path: Path) -> None:
    path = f"s3a://{LAKE}/shared"
    store.upsert(path, rows_at(1), **COW, **STORAGE_LOCK)
    with hudi_lock(store.server, path, tmp_path) as hudi:
        assert hudi("try") == "held", "ours is released"
        with pytest.raises(SessionError, match=f"LOCK_TIMEOUT(.|\n)*{store.lock('shared')['owner']}"):
            store.upsert(path, rows_at(2), **COW, **STORAGE_LOCK, **{"hoodie.write.lock.wait_time_ms": "2500"})
        assert hudi("unlock") == "released", "it was renewed, and was not taken over"
        store.upsert(path, rows_at(3), **COW, **STORAGE_LOCK)
        ours = store.lock("shared")
        store.put_lock("shared", **{**ours, "expired": False, "validUntil": int(time.time() * 1000) + 60_000})
        assert hudi("try") == "refused", "a lock of ours is a lock to Hudi"
        store.put_lock("shared", **ours)
        assert hudi("try") == "held"
        assert hudi("unlock") == "released"
    store.upsert(path, rows_at(4), **COW, **STORAGE_LOCK)
    assert store.read(path) == rows_at(4)


@pytest.fixture(scope="module")
def hudi(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionProcess]:
    folder = tmp_path_factory.mktemp("hudi")
    with SessionProcess(folder, "local[2]", hudi_settings(store.server, folder), plain=True) as session:
        yield session


@pytest.mark.parametrize("kind", ["cow", "mor"] if os.environ.get("MERGANSER_FULL") else ["mor"])
def test_writers_of_both_engines_in_turn_and_concurrently_lose_and_duplicate_no_row(
    store: Store, hudi: SessionProcess, kind: str
) -> None:
    path, retries = f"s3a://{LAKE}/engines_{kind}", {"hoodie.write.num.retries.on.conflict.failures": "20"}
    options = {**OPTIONS, **(COW if kind == "cow" else MOR), **STORAGE_LOCK, **retries}
    own = {name: [[first + i, "new", 1, "p0"] for i in range(3)] for name, first in (("ours", 100), ("theirs", 200))}

    def write_at(name: str, *times: int) -> None:
        for ts in times:
            rows = [own[name][ts % 3], [0, f"{name} at {ts}", ts, "p0"]]
            if name == "ours":
                store.upsert(path, rows, **options)
            else:
                hudi.call(hudi_write, path=path, rows=rows, options=options)

    write_at("ours", 3)
    write_at("theirs", 6)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write_at, "ours", 7, 11), pool.submit(write_at, "theirs", 10, 8)]:
            done.result()
    expected = sorted([[0, "ours at 11", 11, "p0"], *own["ours"], *own["theirs"]])
    assert store.read(path) == expected
    assert hudi.call(hudi_read, path=path) == expected
    assert store.lock(path.rpartition("/")[2])["expired"]


def test_without_conditional_puts_in_s3a_several_writers_are_refused_and_a_single_one_works(
    store: Store,
) -> None:
    path = f"s3a://{PLAIN}/t"
    store.upsert(path, rows_at(1), **COW)
    for options in (SEVERAL, STORAGE_LOCK):
        with pytest.raises(SessionError, match=r"EXCLUSIVE_CREATE_MISSING(.|\n)*S3A of Hadoop 3\.4\.2"):
            store.upsert(path, rows_at(2), **COW, **options)
    store.upsert(path, rows_at(3), **COW)
    assert store.read(path) == rows_at(3)


def test_a_lost_response_of_the_store_neither_fails_nor_repeats_the_write(store: Store) -> None:
    path = f"s3a://{LAKE}/faults"
    store.upsert(path, rows_at(1), **MOR, **STORAGE_LOCK)
    places = [".deltacommit.requested", ".deltacommit.inflight", "the completed file", ".hoodie/lock", LOCK, ".log."]
    # Before its work is what the client repeats by itself: nothing is there then.
    moments = ("after", "before") if os.environ.get("MERGANSER_FULL") else ("after",)
    for ts, (place, when) in enumerate([(p, w) for p in places for w in moments], start=2):
        store.server.fail(
            "PUT", "/timeline/.*_.*deltacommit$" if place == "the completed file" else re.escape(place), when
        )
        store.upsert(path, rows_at(ts), **MOR, **STORAGE_LOCK)
        assert store.read(path) == rows_at(ts), f"{when} a PUT of {place}"
    commits = [key for key in store.server.objects(LAKE, "faults/.hoodie/timeline/") if key.endswith(".deltacommit")]
    assert len(commits) == 1 + len(moments) * len(places)
    assert not store.server.pending()
