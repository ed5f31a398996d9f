"""Where things are: the project, the folder of all its tests, and the files of pytests by their names."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "tests"

#: Path of each file of pytests, by its name: names are unique in all folders.
PYTESTS = {file.name: file for file in sorted((TESTS / "python").rglob("test_*.py"))}
