"""Releases: the date in the changelog, the version wherever it is, what `artifacts` builds, and the tag."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from dev.artifacts import RELEASE
from dev.environment import Environment
from dev.layout import ENVIRONMENTS, ROOT, STATE, default_line, release_version
from dev.process import Stop, remove, run, say

COPY = STATE / "release"

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_OPEN = re.compile(r"^## (\S+) \(not released\)$", re.MULTILINE)


def release(options: argparse.Namespace, rest: list[str]) -> int:
    """date the open version, build all that users get into dist/release/, tag: release VERSION [--dry-run]; --next

    All of it happens in a copy of the tree, in .dev/release: the open section of CHANGELOG.md gets today's date, the
    version is set in the package, in the build and in the names of jars in README.md and docs/, and `./dev artifacts`
    is run. Then these files are committed here, and the commit gets an annotated tag with the section of the changelog.
    With --dry-run, here nothing changes but dist/release; --spark LINE is then enough for a look at one line.

    --next opens a section and sets the version, and does nothing else. Nothing is ever uploaded.
    """
    version = options.version
    if not _VERSION.fullmatch(version):
        raise Stop(f"'{version}' is not a version such as 0.2.0 or 0.2.0rc1.")
    if options.next and options.dry_run:
        raise Stop("--next changes files: there is no --dry-run of it.")
    if options.next:
        text = (ROOT / "CHANGELOG.md").read_text()
        (ROOT / "CHANGELOG.md").write_text(opened(text, version))
        changed = set_version(ROOT, release_version(), version)
        say_changes([ROOT / "CHANGELOG.md", *changed], version)
        return 0
    if not options.dry_run:
        check_taggable(ROOT, version)
        if options.spark:
            raise Stop("A release has the jars of all Spark lines: --spark is for --dry-run.")
    copy_tree(ROOT, COPY)
    changed = prepare(COPY, version, date.today())
    say_changes(changed, version)
    Environment(options.spark or default_line())  # the copy borrows it
    only = ["--spark", options.spark] if options.spark else []
    variables = {**os.environ, "MERGANSER_ENVIRONMENTS": str(ENVIRONMENTS)}
    run([sys.executable, COPY / "dev", "artifacts", *only], "release", environment=variables)
    remove(RELEASE)
    shutil.copytree(COPY / "dist" / "release", RELEASE)
    if options.dry_run:
        say(f"A dry run: only {RELEASE.relative_to(ROOT)} changed, there is no commit and no tag.")
    else:
        for file in changed:
            shutil.copyfile(file, ROOT / file.relative_to(COPY))
        tag(ROOT, version, RELEASE / "notes.md")
        say(f"Committed and tagged as v{version}. Nothing is pushed or uploaded: CONTRIBUTING.md has the next steps.")
    remove(COPY)
    return 0


def copy_tree(root: Path, copy: Path) -> None:
    """Copy the files of a tree that git knows, or would add."""
    remove(copy)
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        if (root / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)


def prepare(root: Path, version: str, day: date) -> list[Path]:
    """Date the open section and set the version in a tree; return the files that changed."""
    changelog = root / "CHANGELOG.md"
    changelog.write_text(dated(changelog.read_text(), version, day))
    return [changelog, *set_version(root, release_version(), version)]


def say_changes(files: Sequence[Path], version: str) -> None:
    for file in files:
        say(f"{version} in {file.relative_to(COPY if file.is_relative_to(COPY) else ROOT)}")


def check_taggable(root: Path, version: str) -> None:
    """Stop unless a tree is as it was committed and the version has no tag."""
    if git(root, "status", "--porcelain"):
        raise Stop("There are changes that are not committed: commit them first, or try with --dry-run.")
    if git(root, "tag", "--list", f"v{version}"):
        raise Stop(f"There is a tag v{version} already.")


def tag(root: Path, version: str, message: Path) -> None:
    """Commit the changed files of a tree and tag the commit; the tag's message is a file's text."""
    git(root, "commit", "--quiet", "--all", "--message", f"project: release {version}")
    git(root, "tag", "--annotate", "--cleanup=verbatim", "--file", str(message), f"v{version}")


def git(root: Path, *words: str) -> str:
    """What git prints; raises Stop with its message where it fails."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        raise Stop(f"git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


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
