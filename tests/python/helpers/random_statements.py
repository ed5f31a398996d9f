"""Random statements: sources, expressions, conditions and clauses, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from sql_logic import SIGNS, add, both, coalesce, compared, either, equals, greatest, member, negated
from statement_meaning import Refused, Table, Undecided, after
from statements import (
    COLUMNS,
    Clause,
    Compact,
    Delete,
    Expr,
    Insert,
    Merge,
    Own,
    Row,
    Scope,
    Shape,
    Source,
    Statement,
    Update,
)

KEYS_A, KEYS_B, PARTITIONS = (1, 2, 3, 4, 5), ("x", "y"), ("p", "q")


def history(shape: Shape, seed: int, length: int) -> list[Statement]:
    """Statements whose outcome the documents decide; the first fills the table."""
    rng = random.Random(f"{shape.name} {seed}")
    draw = Drawing(shape, rng)
    table = Table()
    made: list[Statement] = []
    refused = 0
    while len(made) < length:
        statement = draw.first() if not made else draw.statement(table)
        try:
            found, _ = after(shape, table, statement)
            if found == table and not isinstance(statement, Compact) and rng.random() < 0.7:
                continue
        except Undecided:
            continue
        except Refused:
            refused += 1
            if refused > length // 4 or rng.random() < 0.5:
                refused -= 1
                continue
            found = table
        table = found
        made.append(statement)
    return made


class Drawing:
    """Draws statements on tables of one shape."""

    def __init__(self, shape: Shape, rng: random.Random) -> None:
        self.shape, self.rng, self.labels = shape, rng, 0

    def chance(self, likely: float) -> bool:
        return self.rng.random() < likely

    # --- rows ---

    def row(self, *, nulls: bool = True) -> dict[str, Any]:
        rng, null = self.rng, lambda likely: nulls and self.chance(likely)
        self.labels += 1
        return {
            "a": None if null(0.06) else rng.choice(KEYS_A),
            "b": None if null(0.12) else rng.choice(KEYS_B),
            "ts": None if null(0.08) else rng.randint(0, 9),
            "seq": None if null(0.1) else rng.randint(0, 2),
            "n": None if null(0.1) else rng.randint(0, 5),
            "v": None if null(0.1) else f"v{self.labels}",
            "p": None if null(0.1) else rng.choice(PARTITIONS),
            "op": None if null(0.1) else rng.choice("iud"),
        }

    def source(self, *, most: int = 6) -> Source:
        columns = (*COLUMNS, "op")
        if self.chance(0.25):
            lacking = self.rng.choice([("ts", "seq"), ("seq",), ("n",), ("v", "p"), ("ts", "seq", "n")])
            columns = tuple(name for name in columns if name not in lacking)
        if self.chance(0.3):
            columns = tuple(self.rng.sample(columns, len(columns)))
        rows = [self.row() for _ in range(self.rng.randint(1, most))]
        return Source(columns, tuple({name: row[name] for name in columns} for row in rows))

    def first(self) -> Insert:
        rows: dict[Any, Row] = {}
        for _ in range(7):
            row = self.row(nulls=self.chance(0.4))
            del row["op"]
            if row["a"] is not None:
                rows[self.shape.identity(row)] = row
        return Insert(Source(tuple(COLUMNS), tuple(rows.values())), "insert")

    # --- expressions ---

    def column(self, side: str, name: str) -> Expr:
        return Expr(f"{side}.{name}", lambda scope: getattr(scope, side)[name])

    def integer(self, sides: Sequence[tuple[str, Sequence[str]]], name: str = "n") -> Expr:
        """A number, of columns like `name` of these sides."""
        like = {"n": ("n", "seq", "a"), "ts": ("ts",), "seq": ("seq", "n"), "a": ("a",)}[name]
        places = [(side, c) for side, columns in sides for c in columns if c in like]
        if not places or self.chance(0.12):
            number = None if self.chance(0.15) else self.rng.randint(0, 9 if name == "ts" else 5)
            text = f"CAST(NULL AS {COLUMNS[name]})" if number is None else str(number)
            return Expr(text, lambda scope: number)
        first = self.column(*self.rng.choice(places))
        kind = self.rng.randrange(5)
        if kind == 0:
            step = self.rng.randint(-2, 3)
            return Expr(f"({first.sql} + {step})", lambda scope: add(first.value(scope), step))
        if kind == 1:
            second = self.column(*self.rng.choice(places))
            return Expr(
                f"coalesce({first.sql}, {second.sql}, 1)",
                lambda scope: coalesce(first.value(scope), second.value(scope), 1),
            )
        if kind == 2:
            second = self.column(*self.rng.choice(places))
            return Expr(f"({first.sql} + {second.sql})", lambda scope: add(first.value(scope), second.value(scope)))
        return first

    def string(self, sides: Sequence[tuple[str, Sequence[str]]]) -> Expr:
        places = [(side, c) for side, columns in sides for c in columns if c in ("v", "b")]
        if not places or self.chance(0.15):
            self.labels += 1
            label = f"w{self.labels}"
            return Expr(f"'{label}'", lambda scope: label)
        first = self.column(*self.rng.choice(places))
        if self.chance(0.4):
            second = self.column(*self.rng.choice(places))
            return Expr(
                f"concat({first.sql}, '+', {second.sql})",
                lambda scope: add(add(first.value(scope), "+"), second.value(scope)),
            )
        return first

    def condition(self, sides: Sequence[tuple[str, Sequence[str]]], depth: int = 0) -> Expr:
        kind = self.rng.randrange(10)
        has_op = any("op" in columns for _, columns in sides)
        if kind < 3 and has_op:
            op = self.rng.choice("iud")
            side = next(side for side, columns in sides if "op" in columns)
            return Expr(f"{side}.op = '{op}'", lambda scope: equals(getattr(scope, side)["op"], op))
        if kind == 3:
            places = [(side, c) for side, columns in sides for c in columns if c in COLUMNS]
            one, no = self.column(*self.rng.choice(places)), self.chance(0.6)
            return Expr(f"{one.sql} IS {'NOT ' if no else ''}NULL", lambda scope: (one.value(scope) is None) != no)
        if kind == 4 and depth < 2:
            one, two = self.condition(sides, depth + 1), self.condition(sides, depth + 1)
            if self.chance(0.5):
                return Expr(f"({one.sql} AND {two.sql})", lambda scope: both(one.value(scope), two.value(scope)))
            return Expr(f"({one.sql} OR {two.sql})", lambda scope: either(one.value(scope), two.value(scope)))
        if kind == 5 and depth < 2:
            one = self.condition(sides, depth + 1)
            return Expr(f"NOT ({one.sql})", lambda scope: negated(one.value(scope)))
        if kind == 6 and any("p" in columns for _, columns in sides):
            side = self.rng.choice([side for side, columns in sides if "p" in columns])
            of = self.rng.choice(PARTITIONS)
            return Expr(f"{side}.p = '{of}'", lambda scope: equals(getattr(scope, side)["p"], of))
        if kind == 7:
            one, two = self.integer(sides, "ts"), self.integer(sides, "ts")
        else:
            one, two = self.integer(sides), self.integer(sides)
        sign = self.rng.choice(list(SIGNS))
        return Expr(f"{one.sql} {sign} {two.sql}", lambda scope: compared(sign, one.value(scope), two.value(scope)))

    def subquery(self) -> Expr:
        """A condition on `t` with a sub-query."""
        source = self.source()
        rows, name = source.rows, self.rng.choice([c for c in ("a", "n", "ts") if c in source.columns])
        where = self.condition([("t", tuple(COLUMNS)), ("s", source.columns)], 1)
        kind = self.rng.randrange(6)
        if kind < 2:
            no = kind == 1
            return Expr(
                f"t.{name} {'NOT ' if no else ''}IN (SELECT {name} FROM {source.sql} s)",
                lambda scope: member(scope.t[name], [s[name] for s in rows], no),
            )
        if kind < 4:
            no = kind == 3
            return Expr(
                f"{'NOT ' if no else ''}EXISTS "
                f"(SELECT 1 FROM {source.sql} s WHERE s.{name} = t.{name} AND {where.sql})",
                lambda scope: (
                    no
                    != any(
                        both(equals(s[name], scope.t[name]), where.value(Scope(scope.t, s, scope.table))) is True
                        for s in rows
                    )
                ),
            )
        sign = self.rng.choice(list(SIGNS))
        best = self.greatest(source)
        return Expr(f"t.n {sign} {best.sql}", lambda scope: compared(sign, scope.t["n"], best.value(scope)))

    def greatest(self, source: Source) -> Expr:
        """A scalar sub-query: the greatest n of a source or of the table itself, of all rows or those of a key."""
        of_table = self.chance(0.4) or "n" not in source.columns
        rows = (lambda scope: scope.table) if of_table else (lambda scope: source.rows)
        place = "{t}" if of_table else source.sql
        if self.chance(0.5):
            return Expr(f"(SELECT max(n) FROM {place})", lambda scope: greatest(r["n"] for r in rows(scope)))
        return Expr(
            f"(SELECT max(s.n) FROM {place} s WHERE s.a = t.a)",
            lambda scope: greatest(r["n"] for r in rows(scope) if equals(r["a"], scope.t["a"])),
        )

    def assigned(self, sides: Sequence[tuple[str, Sequence[str]]], name: str, *, insert: bool = False) -> Expr:
        """A value for a column; straight from the source mostly where the row is new, or the column may not change."""
        straight = [side for side, columns in sides if name in columns and (side == "s" or not insert)]
        if straight and self.chance(0.95 if name in self.shape.fixed else 0.55 if straight[0] == "s" else 0.15):
            return self.column(straight[0] if self.chance(0.85) else straight[-1], name)
        if name in ("b", "p"):
            value = self.rng.choice(KEYS_B if name == "b" else PARTITIONS)
            return Expr(f"'{value}'", lambda scope: value)
        return self.string(sides) if name == "v" else self.integer(sides, name)

    # --- statements ---

    def statement(self, table: Table) -> Statement:
        kind = self.rng.random()
        if len(table) < 3 and self.chance(0.5):
            return self.insert(table)
        if kind < 0.56:
            return self.merge()
        if kind < 0.7:
            return self.update()
        if kind < 0.8:
            return self.delete()
        if kind < 0.92:
            return self.insert(table)
        return Compact()

    def changing(self, sides: Sequence[tuple[str, Sequence[str]]]) -> dict[str, Expr]:
        """Assignments of an UPDATE: some columns, rarely those that may not change."""
        free = [name for name in COLUMNS if name not in self.shape.fixed]
        names = self.rng.sample(free, self.rng.randint(1, min(4, len(free))))
        if "ts" not in names and self.chance(0.3):
            names.append("ts")
        made = {name: self.assigned(sides, name) for name in names}
        if self.chance(0.12):
            fixed = self.rng.choice(self.shape.fixed)
            side = self.rng.choice([side for side, columns in sides if fixed in columns])
            other = "n" if fixed == "a" else "b"
            made[fixed] = self.column(side, fixed if self.chance(0.7) or other not in dict(sides)[side] else other)
        return made

    def merge(self) -> Merge:
        rng = self.rng
        source = Own(rng.randint(-1, 1)) if self.chance(0.08) else self.source()
        s, t = ("s", source.columns), ("t", tuple(COLUMNS))
        equal: list[tuple[str, Expr, bool]] = []
        more: Expr | None = None
        kind = rng.random()
        names: list[str] = []
        if kind < 0.68:
            names = list(self.shape.key)
            if self.shape.partitioned and "p" in source.columns and self.chance(0.65):
                names.append("p")
            if self.chance(0.35):
                more = self.condition(rng.choice([[s], [s], [t], [s, t]]), 1)
        elif kind < 0.78 and len(self.shape.key) > 1:
            names = [rng.choice(self.shape.key)]
        elif kind < 0.92:
            names = [rng.choice([c for c in ("n", "v", "b", "seq", "p") if c in source.columns])]
            if self.chance(0.4):
                more = self.condition([s, t], 1)
        else:
            more = self.condition([s, t])
        if self.chance(0.2):
            rng.shuffle(names)
        for name in names:
            other = name == "a" and "n" in source.columns and self.chance(0.07)
            equal.append((name, self.column("s", "n" if other else name), self.chance(0.15)))
        settings = {"spark.merganser.sql.duplicates": "fail"} if self.chance(0.06) else {}
        full = set(COLUMNS) <= set(source.columns)
        if not full and self.chance(0.5):
            settings["spark.merganser.sql.schemaEvolution"] = "true"
        stars = full or "spark.merganser.sql.schemaEvolution" in settings
        clauses = self.clauses(s, t, stars=stars)
        return Merge(tuple(equal), more, source, clauses, settings)

    def clauses(self, s: tuple[str, Sequence[str]], t: tuple[str, Sequence[str]], *, stars: bool) -> tuple[Clause, ...]:
        made: list[Clause] = []
        matched, lone, lacking = self.rng.choice(
            [(1, 1, 0)] * 4
            + [
                (2, 1, 0),
                (2, 0, 0),
                (3, 2, 0),
                (0, 1, 0),
                (1, 0, 1),
                (1, 1, 1),
                (2, 1, 2),
                (0, 1, 1),
                (0, 0, 1),
                (1, 0, 0),
            ]
        )

        def condition(last: bool, sides: Sequence[tuple[str, Sequence[str]]]) -> Expr | None:
            return None if last and self.chance(0.6) else self.condition(sides)

        for i in range(matched):
            when = condition(i == matched - 1, [s, t])
            if self.chance(0.3):
                made.append(Clause("MATCHED", "DELETE", when))
            elif stars and self.chance(0.5):
                made.append(Clause("MATCHED", "UPDATE", when))
            else:
                made.append(Clause("MATCHED", "UPDATE", when, self.changing([s, t])))
        for i in range(lone):
            when = condition(i == lone - 1, [s])
            if stars and self.chance(0.6):
                made.append(Clause("NOT MATCHED", "INSERT", when))
            else:
                listed = [c for c in COLUMNS if c in (*self.shape.key, "p", "ts") or self.chance(0.7)]
                made.append(
                    Clause("NOT MATCHED", "INSERT", when, {c: self.assigned([s], c, insert=True) for c in listed})
                )
        for i in range(lacking):
            when = condition(i == lacking - 1 and self.chance(0.5), [t])
            if self.chance(0.5):
                made.append(Clause("NOT MATCHED BY SOURCE", "DELETE", when))
            else:
                made.append(Clause("NOT MATCHED BY SOURCE", "UPDATE", when, self.changing([t])))
        return tuple(made)

    def where(self) -> Expr | None:
        if self.chance(0.08):
            return None
        if self.chance(0.4):
            one = self.subquery()
            if self.chance(0.3):
                two = self.condition([("t", tuple(COLUMNS))], 1)
                return Expr(f"{one.sql} AND {two.sql}", lambda scope: both(one.value(scope), two.value(scope)))
            return one
        return self.condition([("t", tuple(COLUMNS))])

    def update(self) -> Update:
        values = self.changing([("t", tuple(COLUMNS))])
        if "n" in values and self.chance(0.3):
            values["n"] = self.greatest(self.source())
        return Update(values, self.where())

    def delete(self) -> Delete:
        return Delete(self.where())

    def insert(self, table: Table) -> Insert:
        operation = self.rng.choice(["insert", "insert", "upsert", "upsert", "bulk_insert"])
        policy = self.rng.choice(["drop", "fail"]) if operation == "insert" and self.chance(0.3) else "none"
        rows = [self.row() for _ in range(self.rng.randint(1, 4))]
        if operation != "upsert" and policy == "none" and not self.shape.merging_inserts:
            fresh: dict[Any, Row] = {}
            for row in rows:
                if self.shape.identity(row) not in table or row["a"] is None:
                    fresh[self.shape.identity(row)] = row
            rows = list(fresh.values())  # type: ignore[arg-type]
        if not rows:
            rows, operation, policy = [self.row(nulls=False)], "upsert", "none"
        source = Source(tuple(COLUMNS), tuple({c: row[c] for c in COLUMNS} for row in rows))
        return Insert(source, operation, policy)  # type: ignore[arg-type]
