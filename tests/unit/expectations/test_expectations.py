"""Each expectation on each engine, as Great Expectations runs it in a suite of a user's own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import microagg_ops.expectations as known
from microagg_ops.expectations import (
    ExpectColumnTotalToBePreserved,
    ExpectInformationLossToBeAtMost,
    ExpectLinkageToBeAtMost,
    ExpectTableSchemaToBeAsDeclared,
    ExpectTableToBeKAnonymous,
    ExpectTableToBeLDiverse,
    ExpectTableToBeTClose,
)
from tests.unit.expectations.engines import Engine, Pandas

# Names that a careless query would trip over.
AGE, SICK, WHO, REGION = 'age "in" years', "select; --%s", "who:is ä", "100% [r]"
OLD, INCOME = "age.before`", "order"
NAN = float("nan")
TABLE = pa.table(
    {
        AGE: pa.array([2.0, 2.0, 2.0, 9.0, 9.0, 9.0, None, NAN]),
        OLD: pa.array([1.0, 2.0, 3.0, 8.0, 9.0, 10.0, None, NAN]),
        SICK: ["flu-7731", "flu-7731", "ulcer", "flu-7731", "ulcer", "cold", "flu-7731", "ulcer"],
        INCOME: [3, 4, 5, 6, 11, 8, 7, 9],
        REGION: ["n", "n", "n", "s", "s", "s", None, None],
        WHO: [1, 1, 2, 3, 4, 5, 6, 7],
    }
)
CLASSES: dict[str, Any] = {"quasi": [AGE], "strata": [REGION]}
TYPES = {
    AGE: "number", OLD: "number", SICK: "text", INCOME: "integer", REGION: "text", WHO: "integer",
}  # fmt: skip
CASES = [
    # By hand: classes {1, 2, 3}, {4, 5, 6} and, NULL and NaN being one, {7, 8}.
    (ExpectTableToBeKAnonymous(k=2, **CLASSES), 2, True),
    (ExpectTableToBeKAnonymous(k=3, **CLASSES), 2, False),
    (ExpectTableToBeKAnonymous(k=2, entity=WHO, **CLASSES), 2, True),
    (ExpectTableToBeKAnonymous(k=3, entity=WHO, **CLASSES), 2, False),
    (ExpectTableToBeKAnonymous(k=2, nulls="reject", **CLASSES), 2, False),
    (ExpectTableToBeKAnonymous(k=2, nulls="impute", **CLASSES), 2, False),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=2, **CLASSES), 2, True),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=3, **CLASSES), 2, False),
    # The first class has shares 2/3 and 1/3.
    (ExpectTableToBeLDiverse(sensitive=SICK, l=1.8, kind="entropy", **CLASSES), 1.889882, True),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=1.9, kind="entropy", **CLASSES), 1.889882, False),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=2, kind="recursive", c=2.1, **CLASSES), 2, True),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=2, kind="recursive", c=2, **CLASSES), 2, False),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=2, kind="recursive", **CLASSES), 2, False),
    (ExpectTableToBeLDiverse(sensitive=SICK, l=3, kind="recursive", c=9, **CLASSES), None, False),
    # One entity is ill with one thing, whatever the number of its rows.
    (ExpectTableToBeLDiverse(sensitive=SICK, l=2, kind="entropy", entity=WHO, **CLASSES), 2, True),
    # flu 4/8, ulcer 3/8, cold 1/8 in the table, 1/3 each in the second class.
    (ExpectTableToBeTClose(sensitive=SICK, t=0.21, **CLASSES), 5 / 24, True),
    (ExpectTableToBeTClose(sensitive=SICK, t=0.2, **CLASSES), 5 / 24, False),
    # {3, 4, 5} among eight incomes: the areas are 5, 10, 15, 12, 9, 6, 3 in 24ths of a step.
    (ExpectTableToBeTClose(sensitive=INCOME, t=0.36, **CLASSES), 5 / 14, True),
    (ExpectTableToBeTClose(sensitive=INCOME, t=0.35, **CLASSES), 5 / 14, False),
    (ExpectTableToBeTClose(sensitive=INCOME, t=0.75, ordered=False, **CLASSES), 3 / 4, True),
    (ExpectTableToBeTClose(sensitive=INCOME, t=0.7, ordered=False, **CLASSES), 3 / 4, False),
    (ExpectColumnTotalToBePreserved(column=AGE, total=33.0), 0, True),
    (ExpectColumnTotalToBePreserved(column=AGE, total=34.0), 1 / 34, False),
    (ExpectColumnTotalToBePreserved(column=AGE, total=34.0, tolerance=0.03), 1 / 34, True),
    (ExpectColumnTotalToBePreserved(column=AGE, weight=INCOME, total=249.0), 0, True),
    (ExpectColumnTotalToBePreserved(column=AGE, total=34.0, size=50, tolerance=0.03), 0.02, True),
    # SSE 4; SST about 5.5: 77.5.
    (ExpectInformationLossToBeAtMost(columns={AGE: OLD}, max_loss=0.06), 4 / 77.5, True),
    (ExpectInformationLossToBeAtMost(columns={AGE: OLD}, max_loss=0.05), 4 / 77.5, False),
    # Six rows are nearest to three equal ones each, two to each other.
    (ExpectLinkageToBeAtMost(columns={AGE: OLD}, max_linkage=0.38), 3 / 8, True),
    (ExpectLinkageToBeAtMost(columns={AGE: OLD}, max_linkage=0.37), 3 / 8, False),
    # Who knows what a row is ill with finds all but two.
    (ExpectLinkageToBeAtMost(columns={AGE: OLD}, within=[SICK], max_linkage=0.9), 7 / 8, True),
    (ExpectTableSchemaToBeAsDeclared(columns=list(TYPES), types=TYPES), 0, True),
    (ExpectTableSchemaToBeAsDeclared(columns=list(TYPES)), 0, True),
    (ExpectTableSchemaToBeAsDeclared(columns=list(TYPES)[1:]), 1, False),
    (ExpectTableSchemaToBeAsDeclared(columns=[*TYPES, "x"]), 1, False),
    (ExpectTableSchemaToBeAsDeclared(columns=list(TYPES)[::-1]), 6, False),
    (ExpectTableSchemaToBeAsDeclared(columns=list(TYPES), types={AGE: "integer"}), 1, False),
]
BROKEN = [
    ExpectTableToBeKAnonymous(quasi=["nowhere"], k=2),
    ExpectTableToBeKAnonymous(quasi=[AGE], k=2, entity="nowhere"),
    ExpectTableToBeKAnonymous(quasi=[], k=2),
    ExpectTableToBeLDiverse(quasi=[AGE], sensitive="nowhere", l=2),
    ExpectTableToBeTClose(quasi=[AGE], sensitive="nowhere", t=1.0),
    ExpectColumnTotalToBePreserved(column=SICK, total=0.0),
    ExpectInformationLossToBeAtMost(columns={SICK: SICK}, max_loss=1.0),
    ExpectInformationLossToBeAtMost(columns={}, max_loss=1.0),
    ExpectLinkageToBeAtMost(columns={AGE: "nowhere"}, max_linkage=1.0),
    ExpectLinkageToBeAtMost(columns={}, max_linkage=1.0),
    ExpectLinkageToBeAtMost(columns={AGE: OLD}, within=["nowhere"], max_linkage=1.0),
]


def title(case: Any) -> str:
    return type(case).__name__.removeprefix("Expect") if hasattr(case, "meta") else str(case)


@pytest.mark.parametrize(("expectation", "observed", "passes"), CASES, ids=title)
def test_by_hand(engine: Engine, expectation: Any, observed: float | None, passes: bool) -> None:
    found = engine.validate(TABLE, expectation)
    assert found.success is passes, found
    assert not any(e.get("raised_exception") for e in errors_of(found))
    expected = None if observed is None else pytest.approx(observed, abs=1e-6)
    assert found.result["observed_value"] == expected
    told = json.dumps(found.to_json_dict())
    assert "flu-7731" not in told


@pytest.mark.parametrize("expectation", BROKEN, ids=title)
def test_an_error_is_a_failure_of_its_own_kind(engine: Engine, expectation: Any) -> None:
    found = engine.validate(TABLE, expectation)
    assert found.success is False
    assert "observed_value" not in found.result
    assert any(e.get("raised_exception") for e in errors_of(found))
    assert "flu-7731" not in json.dumps(found.to_json_dict())


def test_what_a_library_says_of_an_error_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("cannot convert 'flu-7731'")

    monkeypatch.setattr("microagg_ops.expectations.tables.FrameTable.sizes", fail)
    found = Pandas().validate(TABLE, ExpectTableToBeKAnonymous(k=2, **CLASSES))
    told = json.dumps(found.to_json_dict())
    assert "Unexpected ValueError" in told
    assert "flu-7731" not in told


def errors_of(found: Any) -> list[dict[str, Any]]:
    """What was raised: one entry, or one for each metric."""
    info = found.exception_info
    return [info] if "raised_exception" in info else list(info.values())


EMPTY = [
    ExpectTableToBeKAnonymous(k=2, **CLASSES),
    ExpectTableToBeLDiverse(sensitive=SICK, l=2, **CLASSES),
    ExpectTableToBeTClose(sensitive=SICK, t=1.0, **CLASSES),
    ExpectInformationLossToBeAtMost(columns={AGE: OLD}, max_loss=1.0),
    ExpectLinkageToBeAtMost(columns={AGE: OLD}, max_linkage=1.0),
]


@pytest.mark.parametrize("expectation", EMPTY, ids=title)
def test_a_table_without_rows_proves_nothing(engine: Engine, expectation: Any) -> None:
    assert engine.validate(TABLE.slice(0, 0), expectation).success is False


def test_names_are_importable_and_load_nothing_before_they_are_used() -> None:
    assert set(known.__all__) == {title_of for title_of in dir(known) if title_of[:6] == "Expect"}
    script = (
        "import sys, microagg_ops.expectations\n"
        "assert not {'great_expectations', 'pyspark', 'pandas'} & set(sys.modules)\n"
        "from microagg_ops.expectations import ExpectTableToBeLDiverse\n"
        "assert 'great_expectations' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'ExpectNothing'"):
        known.ExpectNothing  # noqa: B018


def test_the_log_of_a_task_has_none_of_the_machinery() -> None:
    script = (
        "import logging, sys; logging.basicConfig(level=logging.INFO, stream=sys.stdout)\n"
        "import pandas as pd\n"
        "from microagg_ops.expectations import ExpectTableToBeKAnonymous\n"
        "from microagg_ops.expectations.batch import Batch, evaluate\n"
        "k = ExpectTableToBeKAnonymous(k=2, quasi=['a'])\n"
        "found = evaluate([Batch('rows', pd.DataFrame({'a': [1, 1]}), {'k': k})])\n"
        "assert found['k'].passed\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "great_expectations" not in done.stdout
