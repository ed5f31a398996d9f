"""What the pages need as a site: links to files outside docs/ become paths, and all decisions are in the navigation."""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+[^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write a link that leaves docs/ as its text and the file's path in the repository."""

    def outside(link: re.Match[str]) -> str:
        image, text, target, _anchor = link.groups()
        place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        if place.startswith("docs/") or place == "docs":
            return link[0]
        return f"{text} (`{place}`)" if not image else f"`{place}`"

    return _LINK.sub(outside, markdown)


def on_config(config: Any, **_: Any) -> Any:
    """Add the decisions, which are many, to the navigation by their files."""
    folder = f"{config['docs_dir']}/decisions"
    decisions = [f"decisions/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".md")]
    config["nav"].append({"Decisions": decisions})
    return config
