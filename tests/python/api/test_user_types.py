"""Programs of users are checked by mypy and pyright as the package declares its types."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

TYPED = Path(__file__).parent / "typed"
PACKAGE = ROOT / "python" / "src"


def wrong_lines() -> set[int]:
    lines = (TYPED / "wrong.py").read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def mypy(_: Path) -> dict[str, set[int]]:
    """Lines with errors, by file."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--follow-imports", "silent"]
    command += ["--ignore-missing-imports", "--cache-dir", str(ROOT / ".dev" / "mypy-users"), "right.py", "wrong.py"]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE)}
    ran = subprocess.run(command, cwd=TYPED, env=environment, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    found: dict[str, set[int]] = {"right.py": set(), "wrong.py": set()}
    for file, line in re.findall(r"^(\S+\.py):(\d+): error", ran.stdout, re.MULTILINE):
        found[file].add(int(line))
    return found


def pyright(folder: Path) -> dict[str, set[int]]:
    """Lines with errors, by file."""
    settings = {
        "include": [str(TYPED)],
        "extraPaths": [str(PACKAGE)],
        "pythonPath": sys.executable,
        "typeCheckingMode": "standard",
        "reportAttributeAccessIssue": "error",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [Path(sys.executable).parent / "basedpyright", "--outputjson", "--pythonpath", sys.executable,
               "-p", str(folder)]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr + ran.stdout
    found: dict[str, set[int]] = {"right.py": set(), "wrong.py": set()}
    for one in json.loads(ran.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            found[Path(one["file"]).name].add(one["range"]["start"]["line"] + 1)
    return found


# Guarantee (Python): A program of every call passes strict mypy and pyright, which find each mistake of another.
@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_type_checkers_accept_a_right_program_and_flag_each_wrong_line(checker: object, tmp_path: Path) -> None:
    assert callable(checker)
    assert checker(tmp_path) == {"right.py": set(), "wrong.py": wrong_lines()}
