"""The pages in docs/ are current, and their links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

DOCS = ROOT / "docs"
MODULES = DOCS.parent / "jvm"
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", ["errors", "guarantees"])
def test_a_generated_page_is_current_and_the_tests_that_it_names_exist(page: str) -> None:
    made = f"import make_{page}; print(make_{page}.render(), end='')"
    current = subprocess.run([sys.executable, "-c", made], cwd=DOCS, capture_output=True, text=True, check=True).stdout
    assert (DOCS / f"{page}.md").read_text() == current, f"run docs/make_{page}.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_between_pages_lead_to_an_existing_file_and_heading(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if ":" in link:
            continue
        file, _, heading = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in slugs, f"{page.name} links to {link}"


def test_classes_and_files_named_on_the_pages_exist() -> None:
    """Classes by their full name, and files with the module they are in."""
    pages = "\n".join(page.read_text() for page in PAGES)
    names = set(re.findall(r"`io\.merganser\.([\w.]+)`", pages))
    files = [*MODULES.glob("*/src/main/scala*/**/*.scala"), *MODULES.glob("*/src/main/java/**/*.java")]
    sources = {file.relative_to(MODULES).as_posix(): file for file in files}
    assert names
    for name in names:
        place = "io/merganser/" + name.replace(".", "/")
        assert any(path.endswith((place + ".scala", place + ".java")) for path in sources), f"there is no {name}"
    for module, end in re.findall(r"`jvm/(\w+)/…/([\w/]+\.scala)`", pages):
        assert any(p.startswith(module + "/") and p.endswith("/" + end) for p in sources), (
            f"there is no {end} in {module}"
        )


def test_each_file_of_a_listed_call_path_uses_the_next() -> None:
    sources: dict[str, str] = {}
    for file in MODULES.glob("*/src/main/scala*/**/*.scala"):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.DOTALL)
        sources[file.stem] = sources.get(file.stem, "") + code
    ways = re.findall(r"^\| an? [\w ]+ \| (`.*→.*) \|$", (DOCS / "architecture.md").read_text(), re.MULTILINE)
    assert len(ways) == 5
    for chain in (chain for way in ways for chain in way.split(";")):
        files = re.findall(r"`(\w+)`", chain)
        for file, following in zip(files, files[1:], strict=False):
            classes = re.findall(r"^(?:[\w\[\]]+ )*(?:class|object|trait) (\w+)", sources[following], re.MULTILINE)
            assert any(re.search(rf"\b{name}\b", sources[file]) for name in classes), f"{file} does not use {following}"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = re.findall(r"^      - (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_links_of_pages_outside_docs_are_rewritten_to_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    import site_hooks

    assert site_hooks.linked("[a](docs/config.md#x), [b](benchmarks/README.md), [c](build.sbt)", "contributing.md") == (
        "[a](config.md#x), [b](benchmarks/README.md), c (`build.sbt`)"
    )
    text = "[d](../../docs/design/failure.md#x) ![e](many-upserts.svg) [f](https://spark.apache.org)"
    assert site_hooks.linked(text, "benchmarks/results/changes.md") == (
        "[d](../../design/failure.md#x) ![e](many-upserts.svg) [f](https://spark.apache.org)"
    )
    assert site_hooks.linked("[g](../CONTRIBUTING.md)", "architecture.md") == "[g](contributing.md)"
    for place, page in site_hooks.OUTSIDE.items():
        assert (ROOT / place).is_file()
        assert not (DOCS / page).exists()


def test_names_in_the_python_reference_exist() -> None:
    import importlib

    names = re.findall(r"^::: (\S+)$", (DOCS / "python-reference.md").read_text(), re.MULTILINE)
    assert names
    for name in names:
        module, _, member = name.rpartition(".")
        parent = importlib.import_module(module)
        assert hasattr(parent, member) or importlib.import_module(name), name
