"""Kernels that are compiled ahead of time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from microagg_ops import kernels
from microagg_ops.cli import warmup as module
from microagg_ops.cli.main import main
from microagg_ops.cli.output import Output


def test_every_kernel_is_ready_and_the_second_time_nothing_is_compiled() -> None:
    first, _ = module.warmup(Output())
    assert first["left"] == [], "no step of cli/warmup.py runs these kernels"
    assert first["kernels"] >= 125
    assert Path(first["cache"]).is_dir()
    again = subprocess.run(
        [sys.executable, "-m", "microagg_ops.cli", "warmup", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert {**told, "seconds": 0} == {**first, "compiled": 0, "seconds": 0}


def test_it_says_what_it_did(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fresh(number: int) -> int:
        return number + 1

    fresh.__module__ = "microagg_ops.kernels.made_up"
    monkeypatch.setattr(kernels, "_COMPILED", {})
    monkeypatch.setattr(kernels, "walk_packages", lambda *_: [])
    one = kernels._COMPILED["made_up.fresh"] = numba.njit(fresh)
    monkeypatch.setattr(module, "steps_of_warmup", list)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "0 of 1 kernels are ready: 0 compiled in 0.0 s, the others were there.",
        "Nothing was kept: no folder can be written. Set NUMBA_CACHE_DIR.",
        "Not compiled yet: made_up.fresh.",
    ]
    monkeypatch.setattr(module, "steps_of_warmup", lambda: [("fresh", lambda: one(1))])
    assert main(["warmup"]) == 0
    assert "1 of 1 kernels are ready" in capsys.readouterr().out


def test_it_fills_a_new_cache(tmp_path: Path) -> None:
    # One method only: all of them take minutes.
    script = (
        "from microagg_ops.cli import warmup as w; from microagg_ops.cli.output import Output\n"
        "import json; steps = w.steps_of_warmup\n"
        "w.steps_of_warmup = lambda: [s for s in steps() if s[0] == 'optimal']\n"
        "print(json.dumps(w.warmup(Output())[0]))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def warmed() -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first = warmed()
    assert first["compiled"] > 0
    assert str(first["cache"]).startswith(str(tmp_path))
    assert list(tmp_path.rglob("optimal.*.nbc"))
    assert "mdav.exact.take" in first["left"]
    assert warmed()["compiled"] == 0
