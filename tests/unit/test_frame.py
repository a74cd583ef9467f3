"""microaggregate() on pandas and polars."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pytest

from microagg_ops import microaggregate, partition
from microagg_ops.errors import DataError, ReleaseError


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "who": rng.integers(0, 60, 200),
            "age": rng.integers(18, 90, 200).astype(np.int16),
            "pay": rng.gamma(3, 900, 200),
            "job": rng.choice(["clerk", "nurse", "smith"], 200),
        }
    )


def test_labels_are_those_of_partition_on_standardized_columns(frame: pd.DataFrame) -> None:
    done = microaggregate(frame, quasi=["pay"], k=4)
    X = frame[["pay"]].to_numpy()
    order = np.argsort(X[:, 0], kind="stable")  # one column without ties: order by value
    Z = (X - X.mean()) / X.std()
    expected = np.empty(len(X), int)
    expected[order] = partition(Z[order], 4, "optimal")
    pairs = set(zip(done.labels.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == done.clusters == done.labels.max() + 1


def test_every_row_has_the_mean_of_its_cluster(frame: pd.DataFrame) -> None:
    done = microaggregate(frame, quasi=["age", "pay"], k=4)
    means = frame.groupby(done.labels)["pay"].transform("mean")
    np.testing.assert_allclose(done.frame["pay"], means)
    assert done.frame.groupby(["age", "pay"]).size().min() >= 4


def test_kind_columns_index_and_types_hold(frame: pd.DataFrame) -> None:
    frame.index = pd.Index(np.repeat([5, 3], 100))
    before = frame.copy()
    done = microaggregate(frame, quasi=["age", "pay"], k=4, keep=True)
    pd.testing.assert_frame_equal(frame, before)
    assert done.frame.dtypes.equals(before.dtypes)
    assert done.frame.index.equals(before.index)
    assert done.frame["job"].equals(before["job"])


def test_polars_gives_polars_and_the_same(frame: pd.DataFrame) -> None:
    of_pandas = microaggregate(frame, quasi=["age", "pay"], k=4, strata=["job"])
    of_polars = microaggregate(pl.from_pandas(frame), quasi=["age", "pay"], k=4, strata=["job"])
    assert of_polars.labels.tolist() == of_pandas.labels.tolist()
    polars.testing.assert_frame_equal(of_polars.frame, pl.from_pandas(of_pandas.frame))


def test_row_order_changes_nothing_but_the_order(frame: pd.DataFrame) -> None:
    frame["n"] = range(len(frame))
    how: Any = {"quasi": ["age", "pay"], "k": 4, "keep": ["n"]}
    straight = microaggregate(frame, **how).frame
    shuffled = microaggregate(frame.sample(frac=1, random_state=1), **how).frame
    pd.testing.assert_frame_equal(shuffled.sort_values("n").reset_index(drop=True), straight)


def test_k_counts_entities(frame: pd.DataFrame) -> None:
    done = microaggregate(frame, quasi=["age", "pay"], k=4, entity="who", keep=["who"])
    assert done.frame.groupby(["age", "pay"])["who"].nunique().min() >= 4


def test_clusters_do_not_cross_strata(frame: pd.DataFrame) -> None:
    done = microaggregate(frame, quasi=["age", "pay"], k=4, strata=["job"])
    assert frame.groupby(done.labels)["job"].nunique().max() == 1


def test_groups_have_labels_of_their_own(frame: pd.DataFrame) -> None:
    done = microaggregate(frame, quasi=["age", "pay"], k=4, groups=[["age"], ["pay"]])
    assert done.labels.shape == (200, 2)
    assert len(done.clusters) == 2  # type: ignore[arg-type]
    for name in ("age", "pay"):
        assert done.frame.groupby(name).size().min() >= 4


def test_groups_may_be_searched_for(frame: pd.DataFrame) -> None:
    how = {"method": "gomm", "population": 4, "generations": 2}
    done = microaggregate(frame, quasi=["age", "pay"], k=4, groups=how)
    assert len(done.labels) == 200
    assert done.labels.ndim == (1 if isinstance(done.clusters, int) else 2)
    with pytest.raises(ReleaseError, match="groups/population: found 1; allowed: 2 or more"):
        microaggregate(frame, quasi=["age"], k=4, groups=how | {"population": 1})


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"quasi": ["agee"]}, DataError, "no column 'agee'. Did you mean 'age'"),
        ({"quasi": {"job": "number"}}, DataError, "'job' is declared number"),
        ({"quasi": {"job": "ordinal"}}, ReleaseError, "  quasi/job/order: found nothing"),
        ({"quasi": {"age": {"weight": 0}}}, ReleaseError, "allowed: more than 0"),
        ({"nulls": "keep"}, ReleaseError, "reject, own_class, impute"),
        ({"small_strata": "keep"}, ReleaseError, "error, merge, drop"),
        ({"weight": "age"}, ReleaseError, "one role a column"),
        ({"quasi": []}, ReleaseError, "  quasi: found"),
        ({"k": 1}, ReleaseError, "  k: found 1; allowed: 2 or more"),
        ({"k": 500}, DataError, "200 rows, fewer than k = 500"),
        ({"method": "mdva"}, ReleaseError, "Did you mean 'mdav'"),
        ({"standardize": "rank"}, ReleaseError, "zscore, minmax, robust, none"),
        ({"groups": [["age"]]}, ReleaseError, "no group with 'pay'"),
        ({"entity": "age"}, ReleaseError, "one role a column"),
        ({"budget": "soon"}, ReleaseError, "  budget: found 'soon'"),
        ({"budget": -1}, ReleaseError, "  budget: found '-1s'"),
        ({"budget": float("nan")}, ReleaseError, "  budget: found"),
        ({"budget": True}, ReleaseError, "  budget: found True"),
        ({"keep": "job"}, ReleaseError, "The 'keep' parameter must be a list"),
        ({"keep": ["jobs"]}, DataError, "no column 'jobs'. Did you mean 'job'"),
        ({"sensitive": "job"}, ReleaseError, "The 'sensitive' parameter must be a list"),
        ({"quasi": [0, 1]}, ReleaseError, "named by a text. Got int instead.*astype"),
        ({"l": {"age": 2}}, ReleaseError, "quasi.*one role a column"),
    ],
)
def test_bad_arguments(
    frame: pd.DataFrame, change: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        microaggregate(frame, **({"quasi": ["age", "pay"], "k": 4} | change))


def test_only_what_a_release_would_publish_comes_back(frame: pd.DataFrame) -> None:
    how: Any = {"quasi": ["pay", "age"], "k": 4, "entity": "who"}
    assert list(microaggregate(frame, **how).frame) == ["age", "pay"]
    assert list(microaggregate(frame, **how, strata=["job"]).frame) == ["age", "pay", "job"]
    assert list(microaggregate(frame, **how, sensitive=["job"]).frame) == ["age", "pay", "job"]
    assert list(microaggregate(frame, **how, l={"job": 2}).frame) == ["age", "pay", "job"]
    assert list(microaggregate(frame, **how, keep=["who"]).frame) == ["who", "age", "pay"]
    assert list(microaggregate(frame, **how, keep=True).frame) == list(frame)


@pytest.mark.parametrize("budget", [2, 2.5, "2s", "2500ms", 0.25])
def test_a_budget_is_a_number_or_a_text(frame: pd.DataFrame, budget: Any) -> None:
    how: Any = {"quasi": ["age", "pay"], "k": 4, "method": "lsc"}
    assert microaggregate(frame, **how, budget=budget).clusters > 1  # type: ignore[operator]


RELEASE_WORDS = r"source\.|source\b|release|view|columns\.|aggregate\.|validate\.|group\.|/"


@pytest.mark.parametrize(
    ("change", "how"),
    [
        ({"pay": [float("inf")] * 200}, {}),
        ({"pay": [float("nan")] * 200}, {}),
        ({"pay": [float("nan")] * 200}, {"nulls": "impute"}),
        ({"pay": [1e200] * 200}, {}),
        ({"pay": ["x"] * 200}, {"quasi": {"pay": "number"}}),
        ({"pay": [0.5] * 200}, {"quasi": {"pay": "integer"}}),
        ({"pay": ["x"] * 200}, {"quasi": {"pay": {"type": "integer", "cast": True}}}),
        ({"pay": ["x"] * 200}, {"quasi": {"pay": {"type": "nominal", "hierarchy": "icd10"}}}),
        ({"pay": ["x"] * 200}, {"quasi": {"pay": {"type": "ordinal", "order": ["y"]}}}),
        ({"pay": [3] * 200}, {"quasi": {"pay": {"type": "ordinal", "order": ["y"]}}}),
        ({"pay": pd.to_timedelta([3] * 200)}, {}),
        ({"who": [None] * 200}, {"entity": "who"}),
        ({"who": [-1.0] * 200}, {"weight": "who"}),
        ({"who": range(200)}, {"strata": ["who"]}),
        ({"who": range(200)}, {"l": {"who": 201}}),
    ],
)
def test_errors_speak_of_arguments(
    frame: pd.DataFrame, change: dict[str, Any], how: dict[str, Any]
) -> None:
    with pytest.raises((DataError, ReleaseError)) as caught:
        microaggregate(frame.assign(**change), **({"quasi": ["pay"], "k": 4} | how))
    said = str(caught.value)
    assert re.search(RELEASE_WORDS, said) is None, said
    assert caught.value.args == (caught.value.message,)


def test_an_empty_frame_is_refused_in_plain_words(frame: pd.DataFrame) -> None:
    with pytest.raises(DataError) as caught:
        microaggregate(frame.head(0), quasi=["pay"], k=4)
    assert str(caught.value) == "The frame has no rows."


def test_duplicate_column_names(frame: pd.DataFrame) -> None:
    frame.columns = pd.Index(["age", "age", "pay", "job"])
    with pytest.raises(DataError, match="two columns named 'age'"):
        microaggregate(frame, quasi=["age"], k=3)


def test_neither_pandas_nor_polars() -> None:
    with pytest.raises(DataError, match="frame of pandas, polars or Arrow. Got dict"):
        microaggregate({"a": [1]}, quasi=["a"], k=2)


@pytest.fixture
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 120
    days = pd.Timestamp("2024-01-01", tz="Europe/Madrid")
    return pd.DataFrame(
        {
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(3, 900, n)),
            "job": rng.choice(["clerk", "nurse", "smith", None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "seen": days + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s"),
            "owns": rng.random(n) < 0.3,
            "fee": [Decimal(int(c)).scaleb(-2) for c in rng.integers(0, 10**4, n)],
            "w": rng.integers(1, 5, n),
            "place": rng.choice(["a", "b"], n),
        }
    )


MIXED = ["pay", "job", "sex", "seen", "owns", "fee"]


def test_types_are_inferred_and_hold(mixed: pd.DataFrame) -> None:
    done = microaggregate(mixed, quasi=MIXED, k=4, nulls="own_class", weight="w", keep=True)
    assert done.frame.dtypes.equals(mixed.dtypes)
    assert done.frame.groupby(MIXED, dropna=False, observed=True).size().min() >= 4
    assert done.frame["pay"].isna().any()
    assert done.frame["w"].equals(mixed["w"])
    assert set(done.treatment) == {"suppressed", "imputed", "strata"}


def test_polars_keeps_its_types(mixed: pd.DataFrame) -> None:
    frame = pl.from_pandas(mixed.drop(columns="fee")).with_columns(
        pl.col("job").cast(pl.Categorical)
    )
    names = ["pay", "job", "sex", "owns"]
    done = microaggregate(frame, quasi=names, k=4, nulls="own_class", keep=True)
    assert done.frame.schema == frame.schema
    assert done.frame["job"].null_count() > 0


def test_imputed_frames_have_no_null(mixed: pd.DataFrame) -> None:
    done = microaggregate(mixed, quasi=["pay", "job"], k=4, nulls="impute")
    assert not done.frame[["pay", "job"]].isna().any().any()
    missing = mixed[["pay", "job"]].isna().sum().to_dict()
    assert done.treatment["imputed"] == missing


def test_rows_of_dropped_strata_are_not_in_the_frame(mixed: pd.DataFrame) -> None:
    mixed.loc[[3, 50], "place"] = "c"
    how: Any = {"quasi": ["owns", "fee"], "strata": ["place"], "small_strata": "drop"}
    done = microaggregate(mixed, k=4, keep=["w"], **how)
    assert done.frame.index.tolist() == [i for i in range(120) if i not in (3, 50)]
    assert len(done.labels) == 118
    pd.testing.assert_series_equal(done.frame["w"], mixed["w"].drop([3, 50]))
    means = mixed["fee"].drop([3, 50]).astype(float).groupby(done.labels).transform("mean")
    assert (abs(done.frame["fee"].astype(float) - means) < 0.01).all()


def test_merged_strata_are_null_in_the_frame(mixed: pd.DataFrame) -> None:
    mixed.loc[[3, 50], "place"] = "c"
    done = microaggregate(
        mixed, quasi={"fee": {"representative": "median"}}, k=2, strata=["place"],
        small_strata="merge",
    )  # fmt: skip
    assert done.frame["place"].isna().sum() == 0  # two rows are enough for k = 2
    done = microaggregate(mixed, quasi=["fee"], k=3, strata=["place"], small_strata="merge")
    assert done.frame["place"].isna().sum() >= 3
