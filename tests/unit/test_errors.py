"""Errors travel between processes whole, and show nothing of the data."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from microagg_ops.errors import (
    BudgetError,
    DataError,
    DisclosureError,
    MicroaggError,
    ReleaseError,
    StagingError,
    WarehouseError,
    scrubbed,
)
from microagg_ops.release.condition import Condition

CANARY = "canary_4711"
CLASSES = [MicroaggError, *MicroaggError.__subclasses__()]


def caught(call: Callable[[], object]) -> Exception:
    """The exception that a call raises, with its traceback."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def leak() -> object:
    """Raise a KeyError with the canary from inside the package."""
    values: dict[str, str] = {}

    def bound(name: str) -> str:
        return values[name]

    return Condition(f"a = :{CANARY}").written("duckdb", lambda name, _: name, bound)


@pytest.mark.parametrize(
    "travel", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_travels_whole(
    cls: type[MicroaggError], travel: Callable[[MicroaggError], MicroaggError]
) -> None:
    error = cls("It broke.", code="own_code", hint="Mend it.", retryable=not cls.retryable)
    there = travel(error)
    assert type(there) is cls
    assert there is not error
    assert (there.message, there.code, there.hint) == ("It broke.", "own_code", "Mend it.")
    assert there.retryable is not cls.retryable
    assert str(there) == str(error) == "It broke. Mend it."
    assert there.args == error.args


@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_has_its_own_code(cls: type[MicroaggError]) -> None:
    error = cls("It broke.")
    assert (error.code, error.hint, error.retryable) == (cls.code, "", cls.retryable)
    assert sum(other.code == cls.code for other in CLASSES) == 1


@pytest.mark.parametrize(
    ("cls", "retryable"),
    [
        (ReleaseError, False),
        (DataError, False),
        (DisclosureError, False),
        (BudgetError, False),
        (StagingError, True),
        (WarehouseError, True),
    ],
)
def test_only_what_may_heal_is_tried_again(cls: type[MicroaggError], retryable: bool) -> None:
    assert cls("It broke.").retryable is retryable


def test_a_foreign_error_shows_its_type_and_place_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MICROAGG_DEBUG", raising=False)
    shown = scrubbed(caught(leak))
    assert CANARY not in f"{shown} {shown!r} {shown.args} {vars(shown)}"
    assert shown.message.startswith("Unexpected KeyError at microagg_ops/release/condition.py:")


def test_a_scrubbed_error_carries_nothing_to_another_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MICROAGG_DEBUG", raising=False)
    shown = scrubbed(caught(leak))
    assert shown.__cause__ is shown.__context__ is None
    assert CANARY.encode() not in pickle.dumps(shown)


def test_a_foreign_error_from_elsewhere_has_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MICROAGG_DEBUG", raising=False)
    assert scrubbed(ValueError(CANARY)).message == "Unexpected ValueError."


@pytest.mark.parametrize("value", ["0", "", "true"])
def test_the_text_is_shown_on_demand_only(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MICROAGG_DEBUG", value)
    assert CANARY not in str(scrubbed(caught(leak)))
    monkeypatch.setenv("MICROAGG_DEBUG", "1")
    assert CANARY in str(scrubbed(caught(leak)))


@pytest.mark.parametrize("cls", CLASSES)
def test_our_own_errors_pass_unchanged(cls: type[MicroaggError]) -> None:
    error = cls("It broke.", hint="Mend it.")
    assert scrubbed(error) is error


@pytest.mark.parametrize(
    ("error", "retryable"), [(OSError(), True), (MemoryError(), True), (ValueError(), False)]
)
def test_a_lack_of_room_may_heal(error: Exception, retryable: bool) -> None:
    assert scrubbed(error).retryable is retryable
