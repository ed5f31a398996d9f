"""Rules written as Python functions: what they become, and what is refused, with the line and a remedy. No session."""

from __future__ import annotations

import datetime
import inspect
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions
from snippets import page_text

import merganser
from merganser import MerganserError, RuleNotTraceableError
from merganser.rules import call, coalesce, concat, concat_ws, greatest, least, lit, when

#: A constant of the module, which a rule may use.
LIMIT = 9


def sql(make: Callable[[Any, Any], Any]) -> str:
    """The expression of a rule with one column."""
    return merganser.rule(lambda old, new: {"x": make(old, new)})["x"]


def test_a_function_becomes_an_expression_for_each_column_it_returns() -> None:
    @merganser.rule
    def orders(old: Any, new: Any) -> Any:
        newest = when(new.seq > old.seq, new.status).otherwise(old.status)
        return {"qty": old.qty + new.qty, "status": newest, "best": "max", "note": lit("it's")}

    assert dict(orders) == {
        "qty": "expr('(old.qty + new.qty)')",
        "status": "expr('CASE WHEN (new.seq > old.seq) THEN new.status ELSE old.status END')",
        "best": "max",
        "note": r"expr('''it\''s''')",
    }
    assert orders.to_options()["merganser.rule.column.qty"] == "expr('(old.qty + new.qty)')"
    assert orders.name == "orders"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o, n: 1 - o.a * n.b / 2 % LIMIT, "(1 - (((old.a * new.b) / 2) % 9))"),
        (lambda o, n: ~((o.a < 1) & (n.b >= 2) | (o.a != n.a)), "(NOT (((old.a < 1) AND (new.b >= 2)) OR (old.a != new.a)))"),  # noqa: E501
        (lambda o, n: -abs(round(o.a, 2)), "(-abs(round(old.a, 2)))"),
        (lambda o, n: greatest(o.a, least(n.a, -1), None), "greatest(old.a, least(new.a, (-1)), NULL)"),
        (lambda o, n: coalesce(o["unit price"], Decimal("1.50"), 0.5), "coalesce(old.`unit price`, 1.50BD, 0.5D)"),
        (lambda o, n: o.meta.region == "a\\b", r"(old.meta.region = 'a\\b')"),
        (lambda o, n: o.tags[0], "old.tags[0]"),
        (lambda o, n: call("array_union", o.tags, n.tags), "array_union(old.tags, new.tags)"),
        (lambda o, n: concat_ws("/", o.a, concat(n.a, "!")), "concat_ws('/', old.a, concat(new.a, '!'))"),
        (lambda o, n: when(n.a.isNull(), o.a).when(n.a.isin(1, 2), 0).otherwise(n.a.cast("decimal(10,2)")),
         "CASE WHEN (new.a IS NULL) THEN old.a WHEN (new.a IN (1, 2)) THEN 0 ELSE CAST(new.a AS decimal(10,2)) END"),
        (lambda o, n: when(n.a.between(1, 2), True), "CASE WHEN (new.a BETWEEN 1 AND 2) THEN true END"),
        (lambda o, n: o.a.eqNullSafe(n.a) & n.a.isNotNull(), "((old.a <=> new.a) AND (new.a IS NOT NULL))"),
        (lambda o, n: datetime.date(2026, 1, 2), "DATE '2026-01-02'"),
        (lambda o, n: n.at > datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc),
         "(new.at > TIMESTAMP '2026-01-02 03:00:00.000000+00:00')"),
        (lambda o, n: sum([o.a, n.a]), "((0 + old.a) + new.a)"),
    ],
)  # fmt: skip
def test_operators_and_functions_are_written_as_sql(make: Callable[[Any, Any], Any], expected: str) -> None:
    assert sql(make) == "expr('" + expected.replace("'", "''") + "')"


def test_python_code_that_reads_no_values_runs_while_a_rule_is_traced() -> None:
    flag = None

    def total(columns: list[Any]) -> Any:
        return sum(columns[1:], columns[0])

    @merganser.rule
    def sums(old: Any, new: Any) -> Any:
        columns = {name: old[name] + new[name] for name in ("a", "b") if name != "b" or flag is None}
        if flag is None:
            columns["c"] = total([old.a, new.b])
        return columns

    assert list(sums) == ["a", "b", "c"]
    assert sums["c"] == "expr('(old.a + new.b)')"


def looks(old: Any, new: Any) -> Any:
    if new.a > old.a:  # looks
        return {"a": new.a}
    return {"a": old.a}


def chooses(old: Any, new: Any) -> Any:
    return {
        "a": old.a,
        "b": new.b if new.b > 1 else old.b,  # chooses
    }


def repeats(old: Any, new: Any) -> Any:
    while old.a < 3:  # repeats
        old = new
    return {"a": old.a}


def helped(old: Any, new: Any) -> Any:
    def larger(a: Any, b: Any) -> Any:
        return a if a > b else b  # helped

    return {"a": larger(old.a, new.a)}


def identical(old: Any, new: Any) -> Any:
    value = old.a
    return {"a": new.a if value is None else value}  # identical


def assigns(old: Any, new: Any) -> Any:
    new.a = old.a  # assigns
    return {"a": new.a}


def loops(old: Any, new: Any) -> Any:
    found = []
    for tag in new.tags:  # loops
        found.append(tag)
    return {"tags": found}


def listed(old: Any, new: Any) -> Any:
    return {"tags": [tag for tag in new.tags if tag]}  # listed


def fails(old: Any, new: Any) -> Any:
    return {"a": old.a @ new.a}  # fails


@pytest.mark.parametrize(
    ("function", "remedy"),
    [
        (looks, "when(condition, a).otherwise(b)"),
        (chooses, "when(condition, a).otherwise(b)"),
        (repeats, "one expression"),
        (helped, "when(condition, a).otherwise(b)"),
        (identical, "isNull()"),
        (assigns, "Return the value"),
        (loops, "array_union"),
        (listed, "array_union"),
        (fails, "merganser.rules"),
    ],
)
def test_an_untraceable_function_is_refused_with_its_line_and_the_remedy(
    function: Callable[[Any, Any], Any], remedy: str
) -> None:
    with pytest.raises(RuleNotTraceableError) as caught:
        merganser.rule(function)
    lines, first = inspect.getsourcelines(function)
    (line,) = (first + i for i, text in enumerate(lines) if text.rstrip().endswith(f"# {function.__name__}"))
    assert caught.value.parameters["line"] == str(line)
    assert f"line {line} of test_traced_rules.py" in str(caught.value)
    assert remedy in caught.value.parameters["remedy"]


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda o, n: o.a and n.a, "(a) & (b)"),
        (lambda o, n: o.a or 0, "coalesce(a, b)"),
        (lambda o, n: not o.a, "~(a)"),
        (lambda o, n: 1 < o.a < 3, "(a < b) & (b < c)"),
        (lambda o, n: o.a in (1, 2), "isin"),
        (lambda o, n: 1 in o.tags, "array_contains"),
        (lambda o, n: max(o.a, n.a), "greatest"),
        (lambda o, n: min(o.a, n.a), "least"),
        (lambda o, n: o.a == None, "isNull"),  # noqa: E711
        (lambda o, n: o.a is None, "isNull"),
        (lambda o, n: o.a is not None, "isNotNull"),
        (lambda o, n: len(o.tags), "size"),
        (lambda o, n: {1: 2}[o.a], "when"),
        (lambda o, n: f"{o.a}", "concat"),
        (lambda o, n: str(o.a), "cast('string')"),
        (lambda o, n: o.a + "!", "concat"),
        (lambda o, n: int(o.a), "cast('bigint')"),
        (lambda o, n: math.sqrt(o.a), "sqrt"),
        (lambda o, n: o.name.upper(), "call("),
        (lambda o, n: o.a**2, "Multiply"),
        (lambda o, n: o.a // 2, "floor"),
        (lambda o, n: o.tags[1:], "slice"),
        (lambda o, n: list(o), "Name the columns"),
        (lambda o, n: [o.a], "Return a column"),
        (lambda o, n: o.at > datetime.datetime(2026, 1, 1), "constants"),
        (lambda o, n: o.a.cast("int); drop"), "SQL type"),
        (lambda o, n: call("a(b", o.a), "Name one"),
        (lambda o, n: o.a + object(), "columns of old and new"),
    ],
)
def test_each_python_operation_that_reads_a_value_is_refused(make: Callable[[Any, Any], Any], remedy: str) -> None:
    with pytest.raises(RuleNotTraceableError) as caught:
        sql(make)
    assert remedy in caught.value.parameters["remedy"], str(caught.value)
    assert isinstance(caught.value, MerganserError)
    assert caught.value.condition == "RULE_NOT_TRACEABLE"


def pysparks(old: Any, new: Any) -> Any:
    return {"a": functions.when(new.a > old.a, new.a)}  # pysparks


def test_a_pyspark_function_in_a_rule_is_refused_with_the_calling_line() -> None:
    with pytest.raises(RuleNotTraceableError) as caught:
        merganser.rule(pysparks)
    lines, first = inspect.getsourcelines(pysparks)
    assert caught.value.parameters["line"] == str(first + len(lines) - 1)
    assert "in place of pyspark.sql.functions" in caught.value.parameters["remedy"]


def test_a_rule_without_two_parameters_or_a_dict_result_is_refused() -> None:
    for function in (lambda old: {}, lambda old, new, more: {}, lambda *versions: {}):
        with pytest.raises(RuleNotTraceableError, match="two parameters"):
            merganser.rule(function)
    with pytest.raises(RuleNotTraceableError, match="Return a dict"):
        merganser.rule(lambda old, new: old.a)
    with pytest.raises(RuleNotTraceableError, match="Name columns by strings"):
        merganser.rule(lambda old, new: {1: old.a})
    with pytest.raises(TypeError):
        merganser.rule("sum")  # type: ignore[arg-type]


def test_the_pages_function_prints_the_shown_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    page = page_text("docs/merge-rules.md", "Rules written in Python")
    code, shown = re.findall(r"```python\n(import merganser\nfrom.*?)```\n\nIt prints `(.*?)`", page, re.S)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "merge-rules.md", "exec"), names)
    assert capsys.readouterr().out.strip() == shown
    assert names["orders"]["qty"] == "expr('(coalesce(old.qty, 0) + new.qty)')"
    table = re.findall(r"^\| in `merganser.rules` \| (.*) \|$", page, re.M)[0]
    assert set(re.findall(r"`(\w+)", table)) | {"call"} <= set(merganser.rules.__all__)


def test_a_function_without_source_that_uses_is_is_refused() -> None:
    names: dict[str, Any] = {}
    exec(
        "def f(old, new): return {'a': new.a if old.a is None else old.a}\ndef g(old, new): return {'a': new.a}", names
    )
    with pytest.raises(RuleNotTraceableError, match="isNull"):
        merganser.rule(names["f"])
    assert dict(merganser.rule(names["g"])) == {"a": "expr('new.a')"}
