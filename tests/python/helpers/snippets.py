"""The fenced code of the documentation's pages."""

from __future__ import annotations

import re

from places import ROOT


def snippets(page: str, language: str) -> list[str]:
    """The blocks of a language on a page, which is a path in the project; ``.*`` are all languages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```(?:{language})\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
