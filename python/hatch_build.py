"""Adds the jars of all Spark lines to a wheel or a source distribution, and refuses to build one without them.

An editable installation takes the jars from the source folder when a session starts, and needs none here. With
``MERGANSER_WHEEL_LINES=3.5`` the jars of these lines are enough, comma separated, and only they are added.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Jars(BuildHookInterface):
    """Found by hatchling as the one hook of this file."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to add in ``build_data``; ``version`` is ``standard`` or ``editable``."""
        if version == "editable":
            return
        chosen = os.environ.get("MERGANSER_WHEEL_LINES")
        lines = chosen.split(",") if chosen else self.config["lines"]
        release = self.metadata.version
        jars = Path(self.root) / "src" / "merganser" / "jars"
        if Path(self.root, "PKG-INFO").is_file():  # a source distribution: it was built with the jars it is to have
            lines = sorted(
                {jar.name.split("_")[0].rpartition("-")[2] for jar in jars.glob(f"merganser-*-{release}.jar")}
            )
        found = {line: sorted(jars.glob(f"merganser-spark-{line}_*-{release}.jar")) for line in lines}
        missing = [line for line, files in found.items() if len(files) != 1]
        if missing or not found:
            raise RuntimeError(
                f"Cannot build merganser {release} without its jars: {jars} has none of this version for Spark "
                f"{', '.join(missing)}. `./dev wheel` builds them; with MERGANSER_WHEEL_LINES, those of some lines."
            )
        folder = "merganser/jars" if self.target_name == "wheel" else "src/merganser/jars"
        build_data["force_include"].update({str(jar): f"{folder}/{jar.name}" for (jar,) in found.values()})
