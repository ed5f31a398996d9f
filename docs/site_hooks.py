"""What the pages need as a site: pages from outside docs/, links to files that are no pages, generated navigation."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")

ROOT = Path(__file__).resolve().parent.parent

#: Pages of the site by the files outside docs/ that they are made of.
OUTSIDE = {
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks/README.md",
    **{
        f"benchmarks/results/{file.name}": f"benchmarks/results/{file.name}"
        for file in ROOT.glob("benchmarks/results/*.md")
    },
    **{
        f"benchmarks/results/{file.name}": f"benchmarks/results/{file.name}"
        for file in ROOT.glob("benchmarks/results/*.svg")
    },
}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages from outside docs/."""
    from mkdocs.structure.files import File

    for place, page in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to the pages of the files they name; a link to another file becomes its text and the file's path."""
    return linked(markdown, page.file.src_uri)


def linked(markdown: str, page: str) -> str:
    """The text of a page with links as the site needs them."""
    sources = {made: place for place, made in OUTSIDE.items()}
    own = sources.get(page, f"docs/{page}")

    def follow(link: re.Match[str]) -> str:
        image, text, target, anchor = link.groups()
        place = posixpath.normpath(posixpath.join(posixpath.dirname(own), target))
        found = OUTSIDE.get(place, place[len("docs/") :] if place.startswith("docs/") else None)
        if found is None:
            return f"`{place}`" if image else f"{text} (`{place}`)"
        return f"{image}[{text}]({posixpath.relpath(found, posixpath.dirname(page) or '.')}{anchor or ''})"

    return _LINK.sub(follow, markdown)


def on_config(config: Any, **_: Any) -> Any:
    """Add pages from outside docs/ to the navigation by their files, and the addresses of pages that were moved."""
    project = next(section["Project"] for section in config["nav"] if "Project" in section)
    project.append("contributing.md")
    project.append(
        {
            "Benchmarks": sorted(
                page for page in OUTSIDE.values() if page.startswith("benchmarks/") and page.endswith(".md")
            )
        }
    )
    moved = (ROOT / "docs" / "redirects.txt").read_text().splitlines()
    config["plugins"]["redirects"].config["redirect_maps"] = dict(line.split(" ") for line in moved)
    return config
