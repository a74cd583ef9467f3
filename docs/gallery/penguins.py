"""Penguins of the Palmer archipelago, in polars, with NULLs (pip install palmerpenguins)."""

import polars as pl
from palmerpenguins import load_penguins

from microagg_ops import microaggregate

penguins = pl.from_pandas(load_penguins()).with_columns(
    pl.col("sex", "island").cast(pl.Categorical)
)
measures = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

done = microaggregate(
    penguins, quasi=[*measures, "sex"], strata=["species"], k=5, nulls="own_class"
)
print(done)
for warning in done.warnings:
    print(warning)
print(done.frame.schema)
print(done.frame.group_by("species").agg(pl.col(measures).mean().round(1)).sort("species"))

found = done.compare(["mdav", "vmdav", "mdav_mhm"])
for tried in found.tried:
    print(f"{tried.method:<9} loss {tried.information_loss:5.2f} %, risk {tried.risk:5.2f} %")
print(f"recommended: {found.recommended}")

# Penguins that exist: each class shows one of its own, and never the largest or the smallest.
somebody = {name: {"representative": "medoid"} for name in measures}
real = microaggregate(penguins.drop_nulls(), quasi=somebody, strata=["species"], k=5)
both = real.frame.unique().join(penguins, on=measures, how="semi")
print(f"{real}; {len(both)} of {real.frame.n_unique()} published combinations occur")
