"""What the Python tests share: one Spark session for all of them, cheap JVMs, and quick tests first."""

from __future__ import annotations

import os
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator

import pyspark
import pytest
from java_names import remember_java_names
from places import ROOT, TESTS
from pyspark.sql import SparkSession
from sql_steps import Sql

from dev.results import OUT_OF_TIME
from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from interop.python_daemon import SETTINGS as PYTHON_WORKERS
from interop.sessions import INTERPRETED, SMALL, read_rows_as_pickled

# PySpark hands timestamps over in the local time of its process.
os.environ["TZ"] = "UTC"
time.tzset()

#: For every JVM that the tests start. They run thousands of small statements, mostly code that runs a few times: the
#: second compiler and the parallel collector cost more than half of the processor time and return nothing. Hadoop
#: starts a `chmod` for each file, which takes milliseconds unless the process is made by vfork. With one compiler the
#: JVM reserves 48 MB for compiled code, most of which a long session would drop and compile again.
JVM = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:NewRatio=1 "
    "-Djdk.lang.Process.launchMechanism=VFORK"
)
os.environ["JDK_JAVA_OPTIONS"] = " ".join([*os.environ.get("JDK_JAVA_OPTIONS", "").split(), JVM])

remember_java_names()
read_rows_as_pickled()

#: Tests that use one of these start a Spark session, a server or a build, here or in a process of their own. What a
#: module starts for its tests stays while they run one after the other: one that went first would start it twice.
SLOW_FIXTURES = {"spark", "hudi", "server", "store", "running", "classes", "jar"}

#: Fixtures of another engine or a server: their tests are extensive.
ENGINES_AND_SERVERS = {"hudi", "server", "store"}

#: The fewest variants of a test that a run of some of them keeps, and that the first tests keep.
SOME_VARIANTS, FEW_VARIANTS = 2, 1

#: Such a run keeps at least one of so many variants.
AT_MOST = 4

#: How tests name the types of tables.
TABLE_TYPES = {"cow": "cow", "mor": "mor", "COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}

#: Of what a run draws.
SEED = int(os.environ.get("MERGANSER_SEED", "0"))

#: When a run begins no further test, in seconds since 1970.
DEADLINE = float(os.environ.get("MERGANSER_DEADLINE", "inf"))

#: The running Spark line, such as (4, 2).
LINE = tuple(map(int, pyspark.__version__.split(".")[:2]))


def pytest_report_header() -> str:
    return f"first seed of random tests: {os.environ.get('MERGANSER_SEED', '0')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests without a session go first; otherwise the order stays. Those of later Spark lines are not this one's.

    With MERGANSER_VARIANTS=some an e2e test that is there for both types of tables runs on one of them, half of the
    tests on each, and one with many variants runs some of them: what differs between these is the same on every line.
    Of the other e2e tests half run, other ones with another seed. What only later lines have runs in any case.
    With MERGANSER_VARIANTS=others the tests with variants run with the types and variants that `some` leaves out, and
    all others run, so that a run on one line with `some` and a run on another one with `others` have all of them. With
    either, half of the variants of a test that is marked as `sampled` run.
    With MERGANSER_TESTS=first extensive tests do not run, and those with variants run one of two to four of them.
    """
    later = []
    for item in items:
        marks = [tuple(map(int, mark.args[0].split("."))) for mark in item.iter_markers("since")]
        assert not marks or item.get_closest_marker("e2e"), (
            f"{item.nodeid}: what is not e2e runs on the oldest line alone"
        )
        if any(line > LINE for line in marks):
            later.append(item)
    deselect(config, items, later)
    if os.environ.get("MERGANSER_TESTS") == "first":
        deselect(config, items, [item for item in items if is_extensive(item)])
    wanted = os.environ.get("MERGANSER_VARIANTS")
    if wanted:
        deselect(config, items, beyond_the_sample(items))
    end_to_end = [item for item in items if item.get_closest_marker("e2e") and not item.get_closest_marker("since")]
    if wanted == "some":
        deselect(config, items, left_out_by_some(end_to_end) + of_the_default_line(end_to_end))
    elif wanted == "others":
        deselect(config, items, run_by_some(end_to_end))
    if os.environ.get("MERGANSER_TESTS") == "first":
        deselect(config, items, beyond_some_variants(items, FEW_VARIANTS))
    items.sort(key=lambda item: bool(SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > DEADLINE:
        pytest.skip(OUT_OF_TIME)


def deselect(config: pytest.Config, items: list[pytest.Item], unwanted: list[pytest.Item]) -> None:
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        left_out = set(unwanted)
        items[:] = [item for item in items if item not in left_out]


def is_extensive(item: pytest.Item) -> bool:
    """Whether the test takes long or needs more than this process and a local session."""
    engines = ENGINES_AND_SERVERS & set(getattr(item, "fixturenames", ()))
    return bool(item.get_closest_marker("extensive") or engines)


def left_out_by_some(items: list[pytest.Item]) -> list[pytest.Item]:
    other_kind = of_the_other_kind(items)
    left_out = set(other_kind)
    return other_kind + beyond_some_variants([item for item in items if item not in left_out])


def run_by_some(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of tests of which `some` leaves out variants, those that it runs."""
    left_out = set(left_out_by_some(items))
    tests = {test_of(item) for item in left_out}
    return [item for item in items if test_of(item) in tests and item not in left_out]


def of_the_default_line(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of tests of which `some` leaves out no variant, every second item by name, other ones with another seed."""
    left_out = {test_of(item) for item in left_out_by_some(items)}
    return [item for item in items if test_of(item) not in left_out and (SEED + number_of(item.nodeid)) % 2]


def number_of(name: str) -> int:
    """A number that looks random and is the same in each run."""
    return zlib.crc32(name.encode())


def test_of(item: pytest.Item) -> str:
    """The test without its parameters."""
    return item.nodeid.split("[")[0]


def beyond_the_sample(items: list[pytest.Item]) -> list[pytest.Item]:
    """Half of the variants of the tests that are marked so, drawn by name, the other half with the next seed."""
    sampled = variants_of([item for item in items if item.get_closest_marker("sampled")])
    return [
        item
        for name, found in sampled.items()
        for i, item in enumerate(sorted(found, key=lambda item: number_of(item.nodeid)))
        if len(found) > 1 and (i + SEED + number_of(name)) % 2
    ]


def variants_of(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The variants of each test."""
    variants: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        variants[test_of(item)].append(item)
    return variants


def beyond_some_variants(items: list[pytest.Item], least: int = SOME_VARIANTS) -> list[pytest.Item]:
    """Of each test with many variants all but a quarter, a third or a half of them, spread over their list."""
    beyond = []
    for name, found in variants_of(items).items():
        step = max(1, min(AT_MOST, len(found) // least))
        first = number_of(name) % step
        beyond += [item for i, item in enumerate(found) if i % step != first]
    return beyond


def of_the_other_kind(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of tests that are there for both types of tables, those of the type that their name does not choose."""
    both: dict[str, dict[str, pytest.Item]] = defaultdict(dict)
    for item in items:
        params = dict(item.callspec.params) if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        kind = TABLE_TYPES.get(str(params.pop("kind", None)))
        if kind:
            both[f"{test_of(item)} {sorted(params.items(), key=repr)}"][kind] = item
    chosen = {name: ("cow", "mor")[number_of(name) % 2] for name in both}
    return [
        item for name, found in both.items() if len(found) == 2 for kind, item in found.items() if kind != chosen[name]
    ]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session with Merganser in it, made as users make it."""
    import merganser

    warehouse = tmp_path_factory.mktemp("warehouse")
    line = ".".join(pyspark.__version__.split(".")[:2])
    mergers = TESTS / "conformance" / "jars" / f"merganser-conformance-spark-{line}.jar"
    costs = ROOT / "benchmarks" / "jars" / f"merganser-costs-spark-{line}.jar"
    settings = {
        **PYTHON_WORKERS,
        **SMALL,
        "spark.jars": f"{mergers},{costs}",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={warehouse}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(warehouse / "tables"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = merganser.session("tests", master="local[2]", config=settings)
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def interpreted(request: pytest.FixtureRequest) -> None:
    """Half of the tests that use the session, of the first tests three quarters, run without generated code: other ones
    on the newest line than on the oldest, and other ones with another seed. What they check is the same both ways."""
    if "spark" not in request.fixturenames:
        return
    session: SparkSession = request.getfixturevalue("spark")
    number = number_of(f"{request.node.nodeid} {os.environ.get('MERGANSER_SEED', '')}") + LINE[0]
    one_in = 4 if os.environ.get("MERGANSER_TESTS") == "first" else 2
    for name, setting in INTERPRETED.items():
        if number % one_in:
            session.conf.set(name, setting)
        else:
            session.conf.unset(name)


@pytest.fixture(scope="session")
def hudi() -> Iterator[HudiEngine]:
    """The real Hudi in a process of its own."""
    with HudiEngine() as engine:
        yield engine


@pytest.fixture(scope="session")
def ours(spark: SparkSession) -> MerganserEngine:
    """Our engine in Hudi's place, in that session."""
    return MerganserEngine(spark)


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Sql]:
    """Statements in that session, and tables of this test alone."""
    steps = Sql(spark)
    yield steps
    steps.drop()
