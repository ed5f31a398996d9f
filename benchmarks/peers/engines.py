"""The engines by name, in the order of the report, and their jars."""

from __future__ import annotations

from pathlib import Path

from dev.maven import Jar, listed
from peers.delta import Delta
from peers.engine import Engine
from peers.hudi import Hudi
from peers.iceberg import Iceberg
from peers.merganser import Merganser
from peers.paimon import Paimon
from peers.plain import Plain

ENGINES: dict[str, type[Engine]] = {each.name: each for each in (Plain, Merganser, Hudi, Delta, Iceberg, Paimon)}


def jars_of(line: str) -> dict[str, list[Jar]]:
    """The jars of each engine that has a release for a Spark line, by the engine's name."""
    file = Path(__file__).with_name(f"jars-{line}.txt")
    known = listed(file) if file.exists() else []
    found = {name: [jar for jar in known if jar.group == each.group] for name, each in ENGINES.items()}
    return {name: jars for name, jars in found.items() if jars or not ENGINES[name].group}
