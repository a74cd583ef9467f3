"""Ask Great Expectations about a frame, and keep what it says to figures."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NAME = "check"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one expectation; one that could not be evaluated has failed."""

    passed: bool
    observed: float | None
    details: dict[str, Any] = field(default_factory=dict)
    failed_itself: bool = False


def evaluate(batches: Sequence[tuple[pd.DataFrame, Mapping[str, Any]]]) -> dict[str, Outcome]:
    """Evaluate expectations, each on its frame, by name."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    outcomes: dict[str, Outcome] = {}
    with silenced("great_expectations"):
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        source = context.data_sources.add_pandas("release")
        for i, (frame, expectations) in enumerate(batches):
            asset = source.add_dataframe_asset(f"table {i}")
            whole = asset.add_batch_definition_whole_dataframe("all rows")
            suite = gx.ExpectationSuite(f"release {i}")
            for name, expectation in expectations.items():
                expectation.meta = {NAME: name}
                suite.add_expectation(expectation)
            definition = gx.ValidationDefinition(
                name=f"release {i}", data=whole, suite=context.suites.add(suite)
            )
            found = context.validation_definitions.add(definition).run(
                batch_parameters={"dataframe": frame},
                # By default results hold values of rows.
                result_format={"result_format": "SUMMARY", "exclude_unexpected_values": True},
            )
            told = {one.expectation_config.meta[NAME]: outcome_of(one) for one in found.results}
            failed = Outcome(False, None, {}, True)
            outcomes |= {name: told.get(name, failed) for name in expectations}
    return outcomes


def outcome_of(result: Any) -> Outcome:
    """Read one result; an error in a metric comes back as a mere failure without figures."""
    if "observed_value" not in result.result:
        return Outcome(False, None, {}, True)
    observed, details = result.result["observed_value"], result.result.get("details", {})
    return Outcome(result.success is True, observed, details)


@contextmanager
def silenced(name: str) -> Iterator[None]:
    """Keep a library quiet: it logs its own machinery, and errors with the data they are about."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
