"""What an engine cannot do, found in a release file before any work."""

from __future__ import annotations

from collections.abc import Iterator

from microagg_ops.release.engine import EngineAsked
from microagg_ops.release.model import Release


def engine_faults(release: Release) -> Iterator[tuple[str, str, str]]:
    """List what the engine cannot do: it is refused before any work, and never done otherwise."""
    asked, validate, k = release.engine, release.validate, release.aggregate.k
    if not asked.is_spark:
        if asked != EngineAsked():
            yield "/engine", "options of Spark, with engine local", "name: spark, or no options"
        return
    if asked.block_rows < 10 * k:
        yield "/engine/block_rows", str(asked.block_rows), f"{10 * k} (ten times k) or more"
    for pointer, is_asked, found, instead in (
        ("/series/protect", release.series.is_kept, "a series that is protected", "none"),
        ("/nulls", release.nulls == "impute", "impute", "own_class or reject"),
        (
            "/group/method", release.group.method not in ("single", "fixed"),
            release.group.method, "single or fixed",
        ),
        ("/publish/mode", release.publish.mode != "replace", release.publish.mode, "replace"),
        ("/validate/attacks", bool(validate.attacks.asked), "attacks", "none"),
        ("/validate/checks", bool(validate.checks), "checks of other packages", "none"),
        ("/report/data_docs", release.report.data_docs is not None, "a folder", "none"),
    ):  # fmt: skip
        if is_asked:
            yield pointer, f"{found}, which Spark cannot do yet", f"{instead}, or engine: local"
