"""Ask Great Expectations about a frame, and keep what it says to figures."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg_ops.expectations.data_docs import build_site

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


@dataclass(frozen=True)
class Batch:
    """A frame, of pandas or of Spark, and what is expected of it by the name of the check."""

    title: str
    frame: pd.DataFrame | Any
    expectations: Mapping[str, Any]


def evaluate(
    batches: Sequence[Batch],
    name: str = "release",
    site: Path | None = None,
    *,
    by_spark: bool = False,
) -> dict[str, Outcome]:
    """Evaluate expectations, each on its frame.

    Parameters
    ----------
    batches
        The frames and what is expected of them.
    name
        What the suites are named after.
    site
        The folder for Data Docs of what was found; by default none are built.
    by_spark
        Whether the frames are those of Spark.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    outcomes: dict[str, Outcome] = {}
    with silenced("great_expectations"):
        import great_expectations as gx

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        kinds = context.data_sources
        source = kinds.add_spark(name, persist=False) if by_spark else kinds.add_pandas(name)
        for batch in batches:
            found = definition_of(context, source, batch, name).run(
                batch_parameters={"dataframe": batch.frame},
                # By default results hold values of rows.
                result_format={"result_format": "SUMMARY", "exclude_unexpected_values": True},
            )
            told = {one.expectation_config.meta[NAME]: outcome_of(one) for one in found.results}
            failed = Outcome(False, None, {}, True)
            outcomes |= {check: told.get(check, failed) for check in batch.expectations}
        if site is not None:
            build_site(context, site)
    return outcomes


def definition_of(context: Any, source: Any, batch: Batch, name: str) -> Any:
    """Define a validation; only one that a context knows can be run."""
    import great_expectations as gx

    whole = source.add_dataframe_asset(batch.title).add_batch_definition_whole_dataframe("all rows")
    suite = gx.ExpectationSuite(f"{name}: {batch.title}")
    for check, expectation in batch.expectations.items():
        expectation.meta = {NAME: check}
        suite.add_expectation(expectation)
    suite = context.suites.add(suite)
    definition = gx.ValidationDefinition(name=suite.name, data=whole, suite=suite)
    return context.validation_definitions.add(definition)


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
    # Not by levels: modules of the library set their own.
    logger.propagate, nobody = False, logging.NullHandler()
    logger.addHandler(nobody)
    try:
        yield
    finally:
        logger.propagate = True
        logger.removeHandler(nobody)
