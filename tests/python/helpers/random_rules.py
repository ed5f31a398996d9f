"""Merge rules drawn at random as Python functions, each with what it must result in, value by value."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from fold import Row

import merganser
from merganser.rules import coalesce, concat_ws, greatest, least, lit, when

#: An expression of two versions, and its value in two rows.
Drawn = tuple[Callable[[Any, Any], Any], Callable[[Row, Row], Any]]


class RandomRule:
    """A rule for the columns of `some_values`: `n` and `low` are numbers, `high` and `origin` strings, `seen` is true
    or false. All but `origin` have random expressions; `high` is often the value of one of the versions.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        depth = 3
        self._drawn = {
            "n": self._number(depth),
            "low": self._number(depth - 1),
            "high": self._text(depth - 1),
            "seen": self._condition(depth),
        }
        self.rule = merganser.rule(lambda old, new: {name: of[0](old, new) for name, of in self._drawn.items()})

    def by_column(self, older: Row, newer: Row, late: bool) -> Row:
        values = {name: of[1](older, newer) for name, of in self._drawn.items()}
        return {**(older if late else newer), **values}

    def _column(self, *names: str) -> Drawn:
        name, is_old = self._rng.choice(names), self._rng.random() < 0.5
        return (lambda o, n: (o if is_old else n)[name], lambda o, n: (o if is_old else n)[name])

    def _number(self, depth: int) -> Drawn:
        """Less than 1000 and more than -1000, or null."""
        kind = self._rng.choice(["column", "constant"] if depth == 0 else ["+", "-", "*", "greatest", "if", "if", "??"])
        if kind == "column":
            return self._column("n", "low", "ts")
        if kind == "constant":
            value = self._rng.randint(-3, 9)
            return (lambda o, n: lit(value), lambda o, n: value)
        if kind == "if":
            return self._branch(depth, self._number)
        (a, of_a), (b, of_b) = self._number(depth - 1), self._number(depth - 1)
        if kind == "??":
            return (lambda o, n: coalesce(a(o, n), b(o, n)), lambda o, n: _first([of_a(o, n), of_b(o, n)]))
        if kind == "greatest":
            least_too = self._rng.random() < 0.5
            return (
                lambda o, n: (least if least_too else greatest)(a(o, n), b(o, n)),
                lambda o, n: _extreme(min if least_too else max, [of_a(o, n), of_b(o, n)]),
            )
        operators = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
        of = operators[kind]
        return (
            lambda o, n: of(a(o, n), b(o, n)) % 1000,
            lambda o, n: _of_both(lambda x, y: int(math.fmod(of(x, y), 1000)), of_a(o, n), of_b(o, n)),
        )

    def _text(self, depth: int) -> Drawn:
        kind = self._rng.choice(["column"] if depth == 0 else ["join", "if", "if", "greatest"])
        if kind == "column":
            return self._column("high", "origin")
        if kind == "if":
            return self._branch(depth, self._text)
        (a, of_a), (b, of_b) = self._text(0), self._text(0)
        if kind == "greatest":
            return (
                lambda o, n: greatest(a(o, n), b(o, n)),
                lambda o, n: _extreme(max, [of_a(o, n), of_b(o, n)]),
            )
        separator = self._rng.choice(["/", "'", "\\"])
        return (
            lambda o, n: concat_ws(separator, a(o, n), b(o, n)),
            lambda o, n: separator.join(text for text in (of_a(o, n), of_b(o, n)) if text is not None),
        )

    def _branch(self, depth: int, value: Callable[[int], Drawn]) -> Drawn:
        (test, of_test), (a, of_a), (b, of_b) = self._condition(depth - 1), value(depth - 1), value(depth - 1)
        return (
            lambda o, n: when(test(o, n), a(o, n)).otherwise(b(o, n)),
            lambda o, n: of_a(o, n) if of_test(o, n) else of_b(o, n),
        )

    def _condition(self, depth: int) -> Drawn:
        """True, false or null."""
        kind = self._rng.choice(["<", "==", "null", "seen", "in"] if depth <= 1 else ["<", "and", "or", "not"])
        if kind == "seen":
            return self._column("seen")
        if kind == "not":
            inner, of_inner = self._condition(depth - 1)
            return (lambda o, n: ~inner(o, n), lambda o, n: None if of_inner(o, n) is None else not of_inner(o, n))
        if kind in ("and", "or"):
            (a, of_a), (b, of_b) = self._condition(depth - 1), self._condition(depth - 1)
            decides = kind == "or"
            return (
                lambda o, n: (a(o, n) | b(o, n)) if decides else (a(o, n) & b(o, n)),
                lambda o, n: _logical(decides, of_a(o, n), of_b(o, n)),
            )
        number, of_number = self._number(max(0, depth - 1))
        if kind == "null":
            return (lambda o, n: number(o, n).isNull(), lambda o, n: of_number(o, n) is None)
        if kind == "in":
            return (
                lambda o, n: number(o, n).isin(1, 2, 3),
                lambda o, n: _of(lambda x: x in (1, 2, 3), of_number(o, n)),
            )
        other, of_other = self._number(0)
        if kind == "==":
            return (
                lambda o, n: number(o, n) == other(o, n),
                lambda o, n: _of_both(lambda x, y: x == y, of_number(o, n), of_other(o, n)),
            )
        return (
            lambda o, n: number(o, n) < other(o, n),
            lambda o, n: _of_both(lambda x, y: x < y, of_number(o, n), of_other(o, n)),
        )


def _first(values: list[Any]) -> Any:
    return next((value for value in values if value is not None), None)


def _extreme(of: Callable[[list[Any]], Any], values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return of(known) if known else None


def _of(made: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else made(value)


def _of_both(made: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    return None if a is None or b is None else made(a, b)


def _logical(decides: bool, a: Any, b: Any) -> Any:
    """SQL's OR (decided by true) and AND (decided by false)."""
    if decides in (a, b):
        return decides
    return None if None in (a, b) else not decides
