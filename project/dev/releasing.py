"""Versions: one command writes them wherever they are."""

from __future__ import annotations

import argparse
import re
from datetime import date
from pathlib import Path

from dev.layout import ROOT, release_version
from dev.process import Stop, say

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_OPEN = re.compile(r"^## (\S+) \(not released\)$", re.MULTILINE)


def release(options: argparse.Namespace, rest: list[str]) -> int:
    """date the open version in CHANGELOG.md: release VERSION; open the next one: release VERSION --next

    The version is also set in the package, in the build and in the names of jars in README.md and docs/. Nothing is
    committed, tagged or uploaded.
    """
    version = options.version
    if not _VERSION.fullmatch(version):
        raise Stop(f"'{version}' is not a version such as 0.2.0 or 0.2.0rc1.")
    changelog = ROOT / "CHANGELOG.md"
    text = changelog.read_text()
    changelog.write_text(opened(text, version) if options.next else dated(text, version, date.today()))
    for file in set_version(ROOT, release_version(), version):
        say(f"{version} in {file.relative_to(ROOT)}")
    say(f"{version} in CHANGELOG.md, {'open' if options.next else 'dated'}")
    return 0


def dated(changelog: str, version: str, day: date) -> str:
    """The changelog with the open section as that of a version released on a day."""
    found = _OPEN.search(changelog)
    if found is None:
        raise Stop("CHANGELOG.md has no section that is '(not released)': open one with --next.")
    section = changelog[found.end() :].partition("\n## ")[0]
    if not section.strip():
        raise Stop(f"The section {found[1]} of CHANGELOG.md is empty: there is nothing to release.")
    return changelog[: found.start()] + f"## {version} ({day.isoformat()})" + changelog[found.end() :]


def opened(changelog: str, version: str) -> str:
    """The changelog with an empty section for the next version, above the released ones."""
    found = _OPEN.search(changelog)
    if found is not None:
        raise Stop(f"{found[1]} is not released yet: ./dev release {found[1]} dates it first.")
    head, heading, released = changelog.partition("\n## ")
    return f"{head}\n## {version} (not released)\n{heading}{released}"


def set_version(root: Path, old: str, new: str) -> list[Path]:
    """Replace the version in the package, the build and the names of jars; return the files that changed."""
    jar = re.compile(rf'(merganser(?:-spark-\d+\.\d+(?:_\d+\.\d+)?)?(?:[-:]|" % ")){re.escape(old)}\b')
    places = [
        (root / "python" / "src" / "merganser" / "_version.py", re.compile(rf'(__version__ = "){re.escape(old)}\b'))
    ]
    places.append((root / "build.sbt", re.compile(rf'(ThisBuild / version\s*:= "){re.escape(old)}\b')))
    places += [(page, jar) for page in [root / "README.md", root / "python" / "README.md"]]
    places += [(page, jar) for page in sorted((root / "docs").glob("*.md"))]
    changed = []
    for file, pattern in places:
        text = file.read_text()
        replaced = pattern.sub(rf"\g<1>{new}", text)
        if replaced != text:
            file.write_text(replaced)
            changed.append(file)
    return changed
