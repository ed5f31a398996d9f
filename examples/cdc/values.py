"""Random values of columns: the same ones for the same generator."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal

WORDS = (
    "",
    "a",
    "Zürich",
    "naïve ☂",
    "it's",
    'say "hi"',
    "back\\slash",
    "line\nbreak",
    "\ttab",
    "null",
    "{}",
    "💾 disk",
)
FAR = (1890, 1969, 2199)


class Json(str):
    """A JSON document."""


class Values:
    """Random values."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def maybe(self, value: Callable[[], object]) -> object:
        """A value, or null."""
        return None if self.rng.random() < 0.12 else value()

    def text(self) -> str:
        return " ".join(self.rng.choice(WORDS) for _ in range(self.rng.randint(1, 4)))

    def large(self) -> str:
        """A text of some thousand characters."""
        return f"{self.rng.getrandbits(64):x}-" * self.rng.randint(160, 300) + self.text()

    def json(self) -> Json:
        rng = self.rng
        values = {"b": rng.randint(0, 9), "a": [1.50, None, self.text()], "nested": {"x": rng.random() < 0.5}}
        return Json(json.dumps(dict(rng.sample(sorted(values.items()), rng.randint(0, 3)))))

    def instant(self, far: tuple[int, ...] = FAR) -> datetime:
        """A time in this century, or now and then at the end of one of the years ``far``."""
        if self.rng.random() < 0.1:
            return datetime(self.rng.choice(far), 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
        since = timedelta(microseconds=self.rng.randrange(10**15))
        return datetime(2000, 1, 1, tzinfo=timezone.utc) + since

    def decimal(self, digits: int, scale: int) -> Decimal:
        largest = 10**digits - 1
        return Decimal(self.rng.randint(-largest, largest)).scaleb(-scale)

    def document(self) -> dict[str, object]:
        """Random values of all columns of ``documents`` but its keys."""
        return {
            "title": self.maybe(self.text),
            "body": self.maybe(self.large),
            "score": self.maybe(lambda: self.decimal(17, 6)),
            "meta": self.maybe(self.json),
            "updated": self.instant((2000, 2037)),
        }
