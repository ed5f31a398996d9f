#!/usr/bin/env python3
"""Writes docs/guarantees.md from the comments above tests that state what they guarantee; a test compares.

    # Guarantee (SECTION): what is promised, in as many lines as it needs,
    #   of which the second and later ones are indented. Also: test_another_test, AnotherSuite

Such a comment, in Scala with `//`, is above a test, a suite, or all else in a file of pytests, and names the further
tests, suites and files of pytests that show the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "guarantees.md"
PYTESTS = sorted((DOCS.parent / "tests/python").rglob("test_*.py"))
SUITES = sorted((DOCS.parent / "jvm").glob("*/src/test/scala/**/*.scala"))

HEAD = """# Guarantees

<!-- Made by docs/make_guarantees.py from comments above tests; a test compares. Do not edit. -->

What you can rely on, and the test that shows it. All of these tests run in `./dev test --all`, which also runs the
tutorial, the command line and a notebook from the wheel alone in an empty environment. `test_…` is a pytest or a file
of pytests in `tests/python`, `…Suite` a ScalaTest suite in `jvm/*/src/test`.

## Not promised

- **Retries without a transaction.** A write whose response was lost may be committed. Repeating an upsert before
  anything else is written changes nothing under an [idempotent](merge-semantics.md#grouping) rule, such as event time.
  A function that adds, such as `sum`, adds again, and an `insert` or `bulk_insert` stores its rows twice, unless the
  write has a `txn`.
- **Concurrent writers without the setting for it.** Each write takes the lock for its commit, but single writers
  (`hoodie.write.concurrency.mode=SINGLE_WRITER`, the default) roll back what they find unfinished.
- **An empty lock file.** Hudi leaves its live lock empty, so that of a Hudi writer that died is taken over only after
  `hoodie.write.lock.filesystem.expire` minutes, if set; otherwise LOCK_TIMEOUT names the file to delete. A Merganser
  process that dies can leave an empty lock only in stores that create a file in two visible steps (ABFS, those of
  `hoodie.fs.atomic_creation.support`), never on the local disk, in HDFS or in S3.
- **Late-arriving rows after a delete that is not retained.** They are inserted. A copy-on-write table forgets deletes,
  and so does a merge-on-read table at compaction, or where a write fills a small base file with new keys, unless the
  table [retains deletes](merge-semantics.md#retained-deletes), as tables for [change
  events](follow-a-database.md#retained-deletes) do for some hours. [Column rules](merge-rules.md#deletes) remember no
  delete that removed its row.
- **Other batches, under some rules.** Under a [partial update mode](merge-semantics.md#column-wise-merging), or a
  payload class with its own rule for a batch, the same rows in one batch or in two may result in different rows, on
  every path alike.
- **Deletes of `MERGE` for keys without a row.** SQL does not match them, so they leave no tombstone, and the newer of
  two deletes is not remembered. [`apply_changes`](follow-a-database.md) and rows with `_hoodie_is_deleted` have no such
  gap where deletes are retained.
- **Several values with one key or path.** With `spark.merganser.write.allowAmbiguousKeys=true`, and in rows of other
  engines, two rows whose composite keys or partition paths are the same string are one row. Without it too, null and
  the empty string are one partition, so are the strings `2024-01-02` and `2024/01/02` where paths have slashes for
  dashes, and timestamps that differ below milliseconds are one key where keys have them as strings.
- **Keys in both forms, where they are allowed.** With `hoodie.write.complex.keygen.validation.enable=false` rows are
  stored twice in a table whose single keys lack the column's name. An `insert` without a look-up of keys finds keys of
  both forms only in the newest one.
- **The time zone of paths.** Paths with dates and times are in the time zone of the JVM that writes. Another zone is
  noticed by one stored row, unless both zones have the same time then.
- **Space.** Old file slices stay as long as [cleaning](run-it-for-a-year.md#cleaning) retains them, and the history of
  [archived](run-it-for-a-year.md#archiving) instants grows by a few kilobytes an instant.
- **Changed bytes without a checksum.** Changed values look like correct ones in log blocks, commits, plans, footers,
  bucket metadata and versions of columns that other engines wrote, in page headers of base files, in
  `hoodie.properties` apart from the two names, in names of markers, and in version 6. Structure, lengths and sizes are
  checked there ([checksums](layout.md#checksums)).
- **Deleted commits, in part.** A commit deleted by hand is noticed where later commits replaced its base files or wrote
  logs onto them. Otherwise its rows are missing, as those of a failed write.
- **Rollbacks of other engines, in part.** Their instants do not record whether the write had completed. If it had, a
  query as of a time between the write and its rollback returns the rows without it; as of the write itself is an error.
- **Deleted files, in part.** A deleted data file is an error if the commit of a log that is read names it as base
  file, if a commit that is read names it, as the newest one is and that of any other file of a newest slice, or, where
  all partitions are read, if nothing else is left of its commit. Otherwise its rows are missing, or older ones are
  read; in read-optimized queries of some partitions, also where only logs are left. Logs of version 6 are not missed,
  and a partition whose folder is gone counts as empty.
- **Version 6.** A log file records neither its size nor the write it belongs to, so corrupt blocks are skipped, as that
  version requires.
- **Many versions of one key.** Where versions cannot be combined early (custom mergers that state no law, columns
  filled under event time, partial rows, [others](merge-semantics.md#grouping)), those of one key are buffered in
  memory; more than half of the process's memory is an error that names the key. Other rules have no limit.
- **Several tables.** A commit covers one table. A table and its entry in a catalog are changed in two steps.
"""

#: The sections in the order of the page, with what stands before the promises of some.
SECTIONS = {
    "One result": "",
    "Merge rules": "",
    "Counts, dry runs and explanations": "",
    "Change data": "",
    "Change events": "",
    "Writes": "",
    "Failures": "",
    "Repairs and restores": "",
    "Concurrent writers": "",
    "Reads": "",
    "Services": "",
    "Streams": "",
    "Size": """\
`./dev test --full` runs these tests with 100,000 file groups, 10,000 commits and 20 milliseconds for each call of the
file system; `./dev test --all` with a tenth of the groups and commits, and 2 milliseconds.

""",
    "Tables of other engines": "",
    "SQL and sessions": "",
    "Python": "",
    "Installing": "",
}

COMMENT = re.compile(r"^ *(#|//) Guarantee \((?P<section>.+?)\): (?P<text>.*(?:\n *\1   .*)*)", re.MULTILINE)
TEST = {".py": re.compile(r"^def (test_\w+)", re.MULTILINE), ".scala": re.compile(r"\bclass (\w+Suite)\b")}
FIRST_CODE = re.compile(r"^[^#\s].*", re.MULTILINE)


def below(file: Path, source: str, position: int) -> str:
    """The test, suite or file that a comment is above."""
    test, code = TEST[file.suffix].search(source, position), FIRST_CODE.search(source, position)
    is_of_file = file.suffix == ".py" and not (code and code[0].startswith(("@", "def ")))
    return file.stem if is_of_file or not test else test[1]


def promises() -> Iterator[tuple[str, str, list[str]]]:
    """Section, promise and tests of each comment, in the order of files and lines."""
    sources = {file: file.read_text() for file in PYTESTS + SUITES}
    names = {file.stem for file in sources}.union(*(TEST[f.suffix].findall(text) for f, text in sources.items()))
    for file, source in sources.items():
        comments = list(COMMENT.finditer(source))
        if len(comments) != len(re.findall(r"^ *(?:#|//) *Guarantee\b", source, re.MULTILINE)):
            raise ValueError(f"{file} has a comment `Guarantee` in another form than make_guarantees.py reads")
        for comment in comments:
            text, _, others = re.sub(r"\n *(#|//) +", " ", comment["text"]).partition(" Also: ")
            tests = [below(file, source, comment.end()), *filter(None, others.split(", "))]
            if comment["section"] not in SECTIONS or not names.issuperset(tests):
                raise ValueError(f"{file} names a section or tests that do not exist: {comment[0]}")
            yield comment["section"], text, tests


def render() -> str:
    rows: dict[str, str] = dict.fromkeys(SECTIONS, "")
    for section, text, tests in promises():
        rows[section] += f"| {text} | {', '.join(f'`{name}`' for name in tests)} |\n"
    return HEAD + "".join(
        f"\n## {section}\n\n{SECTIONS[section]}| promise | shown by |\n|---|---|\n{rows[section]}"
        for section in SECTIONS
    )


if __name__ == "__main__":
    PAGE.write_text(render())
