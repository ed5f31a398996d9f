"""Merge rules written as Python functions of the two versions of a row.

::

    import merganser
    from merganser.rules import when

    @merganser.rule
    def orders(old, new):
        return {
            "qty": old.qty + new.qty,
            "status": when(new.seq > old.seq, new.status).otherwise(old.status),
        }

    merganser.Table.create(spark, path, columns, record_key="id", ordering_by="ts", rule=orders)

The function is called once, with columns that have no values, and becomes SQL expressions, which the table stores. No
Python runs where rows are merged, and no session is needed to make a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable

from merganser._rule_columns import RuleColumn, Value, Version, call, operand, sql_of
from merganser._rule_options import rule_options
from merganser._rule_tracing import refuse, traced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from merganser.rule_checks import RuleCheck

__all__ = ["Rule", "RuleColumn", "When", "call", "coalesce", "concat", "concat_ws", "greatest", "least", "lit", "rule",
           "when"]  # fmt: skip


class Rule(Mapping[str, str]):
    """The function of each column, as :meth:`Table.create` and :func:`merganser.combine` take it.

    Attributes:
        name: Name of the Python function.
        function: The Python function.
    """

    def __init__(self, function: Callable[[Any, Any], Mapping[str, Any]]) -> None:
        self.name = getattr(function, "__name__", "rule")
        self.function = function
        result = traced(function, Version("old"), Version("new"), (Version, RuleColumn))
        if not isinstance(result, Mapping):
            refuse(f"it returns {type(result).__name__}, not a dict", "Return a dict of columns", function)
        self._functions = {self._column(name): self._text(name, value) for name, value in result.items()}

    def to_options(self) -> dict[str, str]:
        """The rule as options of a write that creates a table, or as properties of a table."""
        return {name: str(text) for name, text in rule_options(self).items()}

    def check(
        self, spark: SparkSession, schema: StructType | str, keys: str | Sequence[str], **settings: Any
    ) -> RuleCheck:
        """Check the rule's laws on random versions of a row: :func:`merganser.check_rule` with this rule.

        Args:
            spark: As for :func:`merganser.check_rule`, and so are all others.

        Raises:
            MerganserError: The rule is not one of these columns.
        """
        from merganser.laws import check_rule

        return check_rule(spark, schema, keys, self, **settings)

    def _column(self, name: Any) -> str:
        if not isinstance(name, str) or not name:
            refuse(f"it returns a column {name!r}", "Name columns by strings", self.function)
        return str(name)

    def _text(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        try:
            text = sql_of(value)
        except TypeError as error:
            refuse(
                f"the value of column {name!r} is {type(value).__name__}",
                f"Return a column, a constant (lit for a string) or the name of a function such as 'sum': {error}",
                self.function,
            )
        return "expr('" + text.replace("'", "''") + "')"

    def __getitem__(self, column: str) -> str:
        return self._functions[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return f"Rule({self.name}: {self._functions})"


def rule(function: Callable[[Any, Any], Mapping[str, Any]]) -> Rule:
    """Make a rule of a function of the older version and the newer one.

    Args:
        function: Returns the columns that are merged: expressions over ``old.x`` and ``new.x``, constants, or names of
            functions such as ``"sum"``. Other columns come from the winner.

    Raises:
        RuleNotTraceableError: The function does something with a column that only values have. The message shows
            the line, and what to write instead.
    """
    return Rule(function)


class When(RuleColumn):
    """Branches of a CASE; null where none applies and there is no :meth:`otherwise`."""

    __slots__ = ("_branches",)
    _branches: str

    def __init__(self, branches: str) -> None:
        super().__init__(f"CASE{branches} END")
        object.__setattr__(self, "_branches", branches)

    def when(self, condition: RuleColumn, value: Value) -> When:
        return When(f"{self._branches} WHEN {operand(condition)} THEN {operand(value)}")

    def otherwise(self, value: Value) -> RuleColumn:
        return RuleColumn(f"CASE{self._branches} ELSE {operand(value)} END")


def when(condition: RuleColumn, value: Value) -> When:
    """The value where the condition is true: ``when(new.seq > old.seq, new.x).otherwise(old.x)``."""
    return When("").when(condition, value)


def lit(value: Value) -> RuleColumn:
    """A constant; needed for strings as values of columns, which would otherwise be function names."""
    return RuleColumn(operand(value))


def coalesce(*values: Value) -> RuleColumn:
    """The first value that is not null."""
    return call("coalesce", *values)


def greatest(*values: Value) -> RuleColumn:
    """The largest value; nulls are skipped."""
    return call("greatest", *values)


def least(*values: Value) -> RuleColumn:
    """The smallest value; nulls are skipped."""
    return call("least", *values)


def concat(*values: Value) -> RuleColumn:
    """Strings or arrays, one after the other; null if one is."""
    return call("concat", *values)


def concat_ws(separator: str, *values: Value) -> RuleColumn:
    """Strings with a separator between them; nulls are skipped."""
    return call("concat_ws", separator, *values)
