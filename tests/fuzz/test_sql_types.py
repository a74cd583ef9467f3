"""Columns of any type that a database has: published exactly as they are, or refused in words."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from microagg_ops.pipeline import run_release
from tests.fuzz.guard import CANARY, LONG, Guard, tries
from tests.integration.test_warehouses import Store, open_store

TEXTS = [f"'{CANARY}'", "''", "' '", "'é'", "'02'", "'NULL'", "'a''b'", "'x\ty'", "'🙂'"]
NUMBERS = ["0", "-1", "1", "7", "127", "-128", "32767", "2147483647", "9007199254740993"]
MOMENTS = ["'2024-02-29'", "'1969-12-31 23:59:59.999999'", "'0001-01-01'", "'9999-12-31'"]
TIMES = ["'00:00:00'", "'23:59:59.999999'"]
FLOATS = ["0", "-0.0", "1e308", "5e-324", "'NaN'", "'Infinity'", "0.1", "16777217"]
SPANS = ["'1 day'", "'-3 months 2 days'", "'00:00:00.000001'"]
TYPES: dict[str, dict[str, list[str]]] = {
    "duckdb": {
        "varchar": TEXTS, "integer": NUMBERS[:8], "bigint": NUMBERS, "hugeint": NUMBERS,
        "utinyint": ["0", "255"], "ubigint": ["0", "18446744073709551615"],
        "uhugeint": ["0", "340282366920938463463374607431768211455"], "bignum": ["1", "-7"],
        "double": FLOATS, "float": ["0", "0.1", "'NaN'", "16777217"], "boolean": ["true", "false"],
        "decimal(9, 2)": ["1.25", "-0.01"], "decimal(38, 10)": ["1.25", "1234567890123456789.5"],
        "date": [*MOMENTS, "'infinity'", "'5877642-06-25 (BC)'"], "time": TIMES,
        "timetz": ["'12:00:00+01'"], "timestamp": [*MOMENTS, "'infinity'"],
        "timestamptz": [*MOMENTS], "timestamp_s": MOMENTS[:2], "timestamp_ns": MOMENTS[:2],
        "interval": SPANS, "uuid": ["uuid()", "'00000000-0000-0000-0000-000000000000'"],
        "blob": ["'\\xAA'::blob", "''::blob"], "bit": ["'101'"], "json": ['\'{"a": 1}\''],
        "enum('a', 'b')": ["'a'", "'b'"], "integer[]": ["[1, 2]", "[]"], "integer[2]": ["[1, 2]"],
        "struct(a integer, b text)": ["{'a': 1, 'b': 'x'}"], "map(text, integer)": ["map {'a': 1}"],
        "union(n integer, s text)": ["1", "'x'"],
    },
    "postgres": {
        "text": TEXTS, "varchar(40)": TEXTS, "char(30)": TEXTS, '"char"': ["'a'"], "name": TEXTS,
        "smallint": NUMBERS[:7], "integer": NUMBERS[:8], "bigint": NUMBERS,
        "numeric": [*NUMBERS, "'NaN'", "1e40", "0.1", "'Infinity'"],
        "numeric(12, 3)": ["1.5", "-2"],
        "money": ["12.34", "-1"], "real": ["0", "0.1", "'NaN'"], "double precision": FLOATS[:6],
        "boolean": ["true", "false"], "date": [*MOMENTS, "'infinity'", "'0044-03-15 BC'"],
        "date ": ["'5874897-12-31'"], "time": TIMES, "timetz": ["'12:00+01'"],
        "timestamp": [*MOMENTS, "'-infinity'"], "timestamptz": [*MOMENTS, "'infinity'"],
        "interval": SPANS, "uuid": ["gen_random_uuid()"], "bytea": ["'\\xAA'::bytea", "''::bytea"],
        "bit(3)": ["b'101'"], "varbit": ["b'1'"], "json": ['\'{"a": 1}\''], "jsonb": ["'[1]'"],
        "xml": ["'<a/>'"], "inet": ["'10.0.0.1/8'"], "macaddr": ["'08:00:2b:01:02:03'"],
        "integer[]": ["'{1, 2}'", "'{}'"], "text[]": ["'{a, NULL}'"], "point": ["'(1, 2)'"],
        "int4range": ["'[1, 5)'"], "tsvector": ["'a b'"], "oid": ["7"], "regclass": ["'pg_class'"],
        "pg_lsn": ["'16/B374D848'"],
    },
    "sqlite": {
        "text": TEXTS, "integer": [*NUMBERS, "9223372036854775807"], "real": FLOATS[:4],
        "numeric": ["1", "1.5", "'x'"], "decimal(12, 3)": ["1.5", "'1.50'"],
        "blob": ["x'AA'", "x''"],
        "boolean": ["0", "1", "2"], "date": ["'2024-02-29'", "'no date'", "7"],
        "datetime": ["'2024-02-29 01:02:03'", "'2024-02-29T01:02:03Z'", "1.5"], "time": TIMES,
        "varchar(3)": [*TEXTS, "x'AA'"], "": TEXTS, " ": ["7", "-1"], "json": ['\'{"a": 1}\''],
        "whatever": ["1", "'a'"],
    },
}  # fmt: skip
# The text of a cell, as its own database writes it.
AS_TEXT = {"duckdb": "c::varchar", "postgres": "c::text", "sqlite": "typeof(c) || quote(c)"}
# SQLite has no times: what is declared as one is written anew, with all its digits.
SAME_MOMENT = "julianday(c)"
PEOPLE = 24


@pytest.fixture(params=TYPES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with open_store(request.param, tmp_path, request) as opened:
        yield opened


def fill(store: Store, kind: str, cells: list[str]) -> bool:
    """Make a table of people with a column of the type; whether the database allows it."""
    values = [f"insert into people values ({i}, {i % 12}, {c})" for i, c in enumerate(cells)]
    try:
        store.execute(
            "drop table if exists people",
            "drop table if exists published",
            f"create table people (person integer, age integer, c {kind})",
            *values,
        )
    except Exception:
        return False
    return True


def content(store: Store, table: str, kind: str) -> Counter[Any]:
    timed = store.kind == "sqlite" and kind in ("date", "datetime", "time")
    return Counter(
        store.fetch(f"select {SAME_MOMENT if timed else AS_TEXT[store.kind]} from {table}")
    )


def test_types(store: Store, tmp_path: Path) -> None:
    guard, draw, refused = Guard(), random.Random(0), 0
    path = tmp_path / "people.yaml"
    path.write_text(yaml.safe_dump(RELEASE))
    kinds = sorted(TYPES[store.kind])
    for number in range(tries(10, 700)):
        kind = kinds[number % len(kinds)] if LONG else draw.choice(kinds)
        known = TYPES[store.kind][kind]
        few = draw.sample(known, draw.randint(1, min(3, len(known))))
        cells = [draw.choice([*few, "null"] if draw.random() < 0.3 else few) for _ in range(PEOPLE)]
        if not fill(store, kind, cells):
            refused += 1
            continue
        done = guard.run(
            f"{kind} of {few}",
            lambda: run_release(path, connections={"house": store.url}, run_id="r",
                                reports=tmp_path / "reports"),
        )  # fmt: skip
        if done is not None and content(store, "published", kind) != content(store, "people", kind):
            guard.broken.append(f"{kind} of {few}: published otherwise than it was")
    print(f"{store.kind}: {refused} not taken by the database")
    guard.settle()
    assert guard.ended["done"] > 5


RELEASE = {
    "release": "people",
    "source": {"conn_id": "house", "table": "people"},
    "columns": {
        "identifiers": ["person"],
        "quasi": {"age": {"type": "integer"}},
        "sensitive": ["c"],
        "may_leave": {"c": "It was made by a test."},
    },
    "aggregate": {"k": 3},
    "report": {"formats": ["json"]},
    "publish": {"conn_id": "house", "table": "published"},
}
