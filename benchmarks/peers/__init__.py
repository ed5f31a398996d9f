"""Merganser beside other table formats and plain Spark; ``./dev bench peers`` runs it (`run.py`)."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "project"))  # for the folders and jars of the project
