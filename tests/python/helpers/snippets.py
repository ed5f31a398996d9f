"""The fenced code of the documentation's pages."""

from __future__ import annotations

import re

from places import ROOT


def snippets(page: str, language: str, section: str | None = None) -> list[str]:
    """The blocks of a language on a page, which is a path in the project; ``.*`` are all languages."""
    text = page_text(page, section)
    return re.findall(rf"^```(?:{language})\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def page_text(page: str, section: str | None = None) -> str:
    """The text of a page, or of one of its sections with their subsections, by the heading."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section is None:
        return text
    (found,) = re.finditer(rf"^(#+) {re.escape(section)}$", text, re.MULTILINE)
    rest = text[found.end() :]
    end = re.search(
        rf"^#{{1,{len(found[1])}}} ",
        re.sub(r"^```.*?^```$", lambda m: "." * len(m[0]), rest, flags=re.M | re.S),
        re.MULTILINE,
    )
    return rest[: end.start()] if end else rest
