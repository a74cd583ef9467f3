"""The stage standardize."""

from __future__ import annotations

import numpy as np
import pytest

from microagg_ops.errors import DataError
from microagg_ops.stages.artefacts import Prepared
from microagg_ops.stages.standardize import centre_and_scale, standardize
from tests.unit.stages.conftest import MakeRun

VALUES = np.array([1.0, 2.0, 4.0, 9.0])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("zscore", (4.0, np.std(VALUES))),
        ("minmax", (1.0, 8.0)),
        ("robust", (3.0, 3.5)),
        ("none", (0.0, 1.0)),
    ],
)
def test_methods(method: str, expected: tuple[float, float]) -> None:
    assert centre_and_scale("a", VALUES, method) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["zscore", "minmax", "robust", "none"])
def test_a_constant_column_is_only_centred_and_warned_of(method: str, make_run: MakeRun) -> None:
    run = make_run({"a": [7.0] * 4}, standardize={"method": method})
    summary = standardize(run)
    assert summary["warnings"] == ["Quasi-identifier 'a' is constant."]
    assert len(np.unique(Prepared.rows(run).points["a"])) == 1


def test_robust_on_a_column_that_is_mostly_one_value() -> None:
    values = np.array([0.0] * 20 + [5.0])
    assert centre_and_scale("a", values, "robust") == (0.0, pytest.approx(values.std()))


def test_values_too_large_to_be_squared() -> None:
    with pytest.raises(DataError, match="too large"):
        centre_and_scale("a", np.array([1e200, -1e200]), "zscore")


def test_only_counts_are_told(make_run: MakeRun) -> None:
    summary = standardize(make_run({"a": VALUES}, standardize={"method": "minmax"}))
    assert summary == {"method": "minmax", "columns": 1, "warnings": []}
