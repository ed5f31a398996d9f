"""What was found of a merge rule's laws: whether order, grouping or repetition of versions changes a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merganser._shown import Shown, html_table, lines
from merganser._wire import wire


@dataclass(frozen=True)
class RuleLaw(Shown):
    """A law, and whether random versions of a row keep it."""

    name: str = field(metadata=wire("law"))
    """``never_null``, ``associative``, ``idempotent``, ``order_free``, ``deletes_keep_place``, ``partial_is_whole``,
    ``projection_safe`` or ``retractions_undo``."""
    meaning: str
    """A clause."""
    holds: bool | None
    """True for all cases that were tried, which is not a proof; ``None`` if the law is not about such a rule."""
    relied_on: bool | None
    """Whether merges rely on it to combine versions early; ``None`` for a law that no merge relies on."""
    cases: int
    """Number of cases that were tried: up to the first one that breaks the law."""
    counterexample: str | None
    """Two or three versions of a row that break the law, and what they give: a line each."""

    def to_string(self) -> str:
        """The line, and the counterexample below it."""
        return "\n  ".join([str(self), *(self.counterexample or "").splitlines()])

    def _line(self) -> str:
        return f"{self.name} {_VERDICTS[self.holds]}: {self.meaning}"


_VERDICTS = {True: "holds", False: "does not hold", None: "is not about this rule"}
_FOUND = {False: "broken", True: "held", None: "not about this rule"}


@dataclass(frozen=True)
class RuleCheck(Shown):
    """What :func:`check_rule` and :meth:`merganser.inspection.Inspection.check_rule` found, a law after the other."""

    laws: tuple[RuleLaw, ...]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> RuleCheck:
        """Build one from the rows of the call."""
        return cls(tuple(RuleLaw.from_wire(row) for row in rows))

    def __iter__(self) -> Iterator[RuleLaw]:
        return iter(self.laws)

    def __getitem__(self, name: str) -> RuleLaw:
        """The law of this name.

        Raises:
            KeyError: There is none.
        """
        for law in self.laws:
            if law.name == name:
                return law
        raise KeyError(f"{name!r} is not a law; the laws are {', '.join(law.name for law in self.laws)}")

    @property
    def broken(self) -> tuple[RuleLaw, ...]:
        """The laws that do not hold."""
        return tuple(law for law in self.laws if law.holds is False)

    def to_string(self) -> str:
        """A line for each law, with the counterexamples."""
        return lines(self.laws)

    def _line(self) -> str:
        found = ((verdict, [law.name for law in self.laws if law.holds is holds]) for holds, verdict in _FOUND.items())
        return "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in found if names) or "no laws"

    def _repr_html_(self) -> str:
        return html_table(("name", "meaning", "holds", "counterexample"), self.laws)
