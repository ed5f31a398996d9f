"""SQL's logic, of three values, and its sums with nulls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SIGNS = ("=", "<", ">", "<=", ">=", "<>", "<=>")


def add(one: Any, two: Any) -> Any:
    return None if one is None or two is None else one + two


def coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def greatest(values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def equals(one: Any, two: Any) -> bool | None:
    return None if one is None or two is None else one == two


def compared(sign: str, one: Any, two: Any) -> bool | None:
    if sign == "<=>":
        return bool(one == two)
    if one is None or two is None:
        return None
    return bool(
        {"=": one == two, "<": one < two, ">": one > two, "<=": one <= two, ">=": one >= two, "<>": one != two}[sign]
    )


def both(one: bool | None, two: bool | None) -> bool | None:
    if one is False or two is False:
        return False
    return None if one is None or two is None else True


def either(one: bool | None, two: bool | None) -> bool | None:
    return negated(both(negated(one), negated(two)))


def negated(one: bool | None) -> bool | None:
    return None if one is None else not one


def member(one: Any, values: Sequence[Any], no: bool) -> bool | None:
    found: bool | None = False
    for value in values:
        found = either(found, equals(one, value))
    return negated(found) if no else found
