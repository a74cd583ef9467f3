"""What a person at a terminal sees."""

from __future__ import annotations

import io

import pytest

from microagg_ops.cli.output import Output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stage_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    output = Output()
    for share in (0.0, 0.5, 1.0, 1.0):
        output.progress("aggregate", share)
    drawn = terminal.getvalue()
    assert drawn.count("\n") == drawn.count("100%") == 1


def test_no_bar_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    Output().progress("aggregate", 0.5)
    assert capsys.readouterr().err == ""


def test_an_open_bar_is_ended_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    output = Output()
    output.progress("aggregate", 0.5)
    output.say("stopped")
    assert terminal.getvalue().endswith("\nstopped\n")
