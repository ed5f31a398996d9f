"""A newcomer's first steps, with the wheel alone: the tutorial, the command line, spark-submit, a notebook, the report.

Run by `./dev newcomer` in a folder without the project's sources: first_steps.py WHEEL [--browser PROGRAM] [--few]

With --few the tutorial is run as a notebook only, its commands in the notebook's session but for the last one, and
spark-submit not at all: three sessions start in place of fourteen.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from report_pictures import check_report

import merganser

HERE = Path.cwd()
LAKE = HERE / "lake"
TABLE = f"{LAKE}/orders"
COUNTS = ("inserted=1", "updated=2", "late=1", "duplicates=1")

APP = """
import sys
import merganser
spark = merganser.session("submitted")
table = merganser.Table.load(spark, sys.argv[1])
print("ROWS", table.df().count(), "FROM", merganser.__file__)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel")
    parser.add_argument("--browser")
    parser.add_argument("--few", action="store_true")
    given = parser.parse_args()
    assert "site-packages" in merganser.__file__, merganser.__file__
    tutorial = (HERE / "tutorial.md").read_text().replace("/tmp/tutorial", str(LAKE))
    python = re.findall(r"^```python\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL)
    shell = [line for block in re.findall(r"^```bash\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL)
             for line in block.splitlines() if line.startswith(("merganser ", "python examples/"))]  # fmt: skip
    *commands, report = map(shlex.split, shell)
    assert report[:2] == ["python", "examples/report"]
    step("merganser demo", demo)
    if given.few:
        step("the tutorial as a notebook, with its commands", lambda: notebook(python, commands))
        assert run(["merganser", "--version"]) == f"merganser {merganser.__version__}\n"
    else:
        step("the tutorial as a script", lambda: script(python))
        for words in commands:
            step(shlex.join(words), lambda words=words: run(words))
        step("merganser --json", lambda: json.loads(run(["merganser", TABLE, "info", "--json"])))
        step("spark-submit app.py", submit)
        step("spark-submit --jars", lambda: submit("--jars", run(["merganser", "jar"]).strip()))
        step("spark-submit --py-files", lambda: submit("--py-files", given.wheel, expected=".whl"))
        shutil.rmtree(LAKE)
        step("the tutorial as a notebook", lambda: notebook(python, []))
    step(shlex.join(report), lambda: run(report))
    if given.browser:
        step("pictures of the report", lambda: check_report(given.browser, Path(report[-1]), HERE))


def step(name: str, action: Callable[[], object]) -> None:
    began = time.monotonic()
    action()
    print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)


def run(command: list[str], **variables: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed ({done.returncode}):\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def script(blocks: list[str]) -> None:
    Path("tutorial.py").write_text("\n".join(blocks))
    counted(run([sys.executable, "tutorial.py"]))


def counted(printed: str) -> None:
    for expected in COUNTS:
        assert expected in printed, f"{expected} is not in:\n{printed[-2000:]}"


def demo() -> None:
    printed = run(["merganser", "demo"])
    for expected in ("inserted  updated  unchanged  late", "o1  sent "):
        assert expected in printed, printed


def submit(*arguments: str, expected: str = "site-packages") -> None:
    """Run the application; ``expected`` is in the path that the package is imported from."""
    Path("app.py").write_text(APP)
    command = ["spark-submit", "--master", "local[1]", *arguments, "app.py", TABLE]
    printed = run(command, PYSPARK_PYTHON=sys.executable)
    assert "ROWS 2" in printed, printed[-2000:]
    (place,) = re.findall(r"FROM (\S+)", printed)
    assert expected in place, place


def notebook(blocks: Sequence[str], commands: Sequence[Sequence[str]]) -> None:
    """Run the blocks, then commands in the notebook's own session, then what notebooks show as tables and pictures."""
    cells = [
        *blocks,
        "from merganser.cli import main",
        *(f"assert main({list(words[1:])!r}) == 0" for words in commands),
        "orders.inspect.explain('o3')",
        "orders.history()",
        "merganser.doctor(spark)",
        "spark.stop()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    nbformat.write(book, "tutorial.ipynb")
    outputs = [output for cell in book.cells for output in cell.outputs]
    counted("".join(output.get("text", "") for output in outputs))
    pages = [str(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert sum("<svg" in page for page in pages) >= 1, "explain drew no picture"
    assert sum("<table" in page for page in pages) >= 2, "history and doctor showed no tables"


if __name__ == "__main__":
    main()
