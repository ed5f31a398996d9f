"""A newcomer's first steps, with the wheel alone: the tutorial, the command line, spark-submit, a notebook, the report.

Run by `./dev newcomer` in a folder without the project's sources: first_steps.py WHEEL BROWSER
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import merganser

HERE = Path.cwd()
LAKE = HERE / "lake"

APP = """
import sys
import merganser
spark = merganser.session("submitted")
table = merganser.Table.load(spark, sys.argv[1])
print("ROWS", table.df().count(), "FROM", merganser.__file__)
"""


def main(wheel: str, browser: str) -> None:
    assert "site-packages" in merganser.__file__, merganser.__file__
    tutorial = (HERE / "tutorial.md").read_text().replace("/tmp/tutorial", str(LAKE))
    python = re.findall(r"^```python\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL)
    shell = [line for block in re.findall(r"^```bash\n(.*?)^```$", tutorial, re.MULTILINE | re.DOTALL)
             for line in block.splitlines() if line.startswith("merganser ")]  # fmt: skip
    step("the tutorial as a script", lambda: script(python))
    for line in shell:
        step(line, lambda line=line: run(shlex.split(line)))
    table = f"{LAKE}/orders"
    step("merganser --json", lambda: json.loads(run(["merganser", table, "info", "--json"])))
    step("spark-submit app.py", lambda: submit(table))
    step("spark-submit --jars", lambda: submit(table, "--jars", run(["merganser", "jar"]).strip()))
    step("spark-submit --py-files", lambda: submit(table, "--py-files", wheel, expected=".whl"))
    shutil.rmtree(LAKE)
    step("the tutorial as a notebook", lambda: notebook(python))
    step("a report of its table", lambda: run(["merganser", "report", table, "--out", "report.html"]))
    step("a picture of the report", lambda: picture(browser))


def step(name: str, action: object) -> None:
    began = time.monotonic()
    action()  # type: ignore[operator]
    print(f"{time.monotonic() - began:6.1f} s  {name}", flush=True)


def run(command: list[str], **variables: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed ({done.returncode}):\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def script(blocks: list[str]) -> None:
    Path("tutorial.py").write_text("\n".join(blocks))
    printed = run([sys.executable, "tutorial.py"])
    for expected in ("inserted=1", "updated=2", "late=1", "duplicates=1"):
        assert expected in printed, f"{expected} is not in:\n{printed[-2000:]}"


def submit(table: str, *arguments: str, expected: str = "site-packages") -> None:
    """Run the application; ``expected`` is in the path that the package is imported from."""
    Path("app.py").write_text(APP)
    command = ["spark-submit", "--master", "local[1]", *arguments, "app.py", table]
    printed = run(command, PYSPARK_PYTHON=sys.executable)
    assert "ROWS 2" in printed, printed[-2000:]
    (place,) = re.findall(r"FROM (\S+)", printed)
    assert expected in place, place


def notebook(blocks: list[str]) -> None:
    blocks = [
        *blocks[:-1],
        "orders.explain_record('o3')",
        "orders.history()",
        "merganser.doctor(spark)",
        "spark.stop()",
    ]
    cells = [nbformat.v4.new_code_cell(block) for block in blocks]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    nbformat.write(book, "tutorial.ipynb")
    pages = [str(output.get("data", {}).get("text/html", "")) for cell in book.cells for output in cell.outputs]
    assert sum("<svg" in page for page in pages) >= 1, "explain_record drew no picture"
    assert sum("<table" in page for page in pages) >= 2, "history and doctor showed no tables"


def picture(browser: str) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,1600"]
    run([browser, *flags, f"--screenshot={HERE / 'report.png'}", (HERE / "report.html").as_uri()])
    image = (HERE / "report.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(image) > 30_000, f"{len(image)} bytes: the page is blank"


if __name__ == "__main__":
    main(*sys.argv[1:])
