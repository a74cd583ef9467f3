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


def test_a_pipe_has_a_line_a_stage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = iter([0.0, 4.0, 11.0, 12.5])
    monkeypatch.setattr("microagg_ops.cli.output.time.monotonic", lambda: next(moments))
    output = Output()
    for share in (0.0, 0.25, 0.5, 1.0, 1.0):
        output.progress("aggregate", share)
    assert capsys.readouterr().err == "aggregate    50%\naggregate    done in 12.5 s\n"


@pytest.mark.parametrize("output", [Output(quiet=True), Output(as_json=True)])
def test_quiet_and_json_say_nothing_but_the_result(
    output: Output, capsys: pytest.CaptureFixture[str]
) -> None:
    output.progress("aggregate", 0.0)
    output.progress("aggregate", 1.0)
    output.say("so far so good")
    output.result({}, ["done"])
    assert capsys.readouterr().err == ""


def test_an_open_bar_is_ended_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    output = Output()
    output.progress("aggregate", 0.5)
    output.say("stopped")
    assert terminal.getvalue().endswith("\nstopped\n")
