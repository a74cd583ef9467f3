"""Signals that end a process wait for what must be done to its end."""

from __future__ import annotations

import signal
import threading

import pytest

from microagg_ops import interrupts
from microagg_ops.interrupts import ENDING, held, listening


@pytest.mark.parametrize("number", ENDING)
def test_each_signal_ends_the_work(number: int) -> None:
    # Whoever runs the tests may ignore one, as nohup does.
    before = signal.default_int_handler
    others = signal.signal(number, before)
    with pytest.raises(KeyboardInterrupt), listening():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before
    signal.signal(number, others)


def test_the_second_does_not_cut_short_what_the_first_began() -> None:
    with listening() as heard:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert heard.came == [signal.SIGTERM, signal.SIGINT]


def test_a_late_one_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "ONE_WISH", -1.0)
    with listening():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)


def test_what_is_held_is_only_noted() -> None:
    with listening() as heard:
        with held():
            signal.raise_signal(signal.SIGTERM)
        with held(to_the_end=True):
            pass
        signal.raise_signal(signal.SIGTERM)
        assert heard.came == [signal.SIGTERM] * 2
    with pytest.raises(KeyboardInterrupt), listening():
        signal.raise_signal(signal.SIGTERM)  # the end of the first is forgotten


def test_handlers_of_others_are_served_afterwards() -> None:
    came: list[str] = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append("signal"))
    try:
        with held(to_the_end=True):
            with held():
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            came.append("done")
        assert came == ["done", "signal"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listening() as heard, held():
            signal.raise_signal(signal.SIGHUP)
        assert heard.came == []
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_hold_nothing() -> None:
    def work() -> None:
        with listening(), held():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
