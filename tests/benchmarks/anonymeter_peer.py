"""Attacks by anonymeter, in an interpreter that has it: a folder of tables in, JSON out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def main(folder: Path, attacks: int) -> None:
    """Attack the tables of a folder, each attack by itself."""
    warnings.simplefilter("ignore")
    frames, evaluators = import_module("pandas"), import_module("anonymeter.evaluators")
    told = json.loads((folder / "columns.json").read_text())
    names = ("members", "published", "others")
    ori, syn, control = (
        frames.read_csv(folder / f"{name}.csv", dtype=dict.fromkeys(told["text"], "object"))
        for name in names
    )
    given = {"ori": ori, "syn": syn, "control": control, "n_attacks": attacks}
    halves = (told["quasi"][0::2], told["quasi"][1::2])
    singling = evaluators.SinglingOutEvaluator
    cases: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
        "singling out, one column": (lambda: singling(**given, seed=0), {"mode": "univariate"}),
        "singling out, three columns": (
            lambda: singling(**given, seed=0, max_attempts=20_000), {"mode": "multivariate"},
        ),
        "linkability": (
            lambda: evaluators.LinkabilityEvaluator(**given, aux_cols=halves), {"n_jobs": 2},
        ),
        "inference": (
            lambda: evaluators.InferenceEvaluator(
                **given, aux_cols=[*told["quasi"], *told["strata"]], secret=told["secret"]
            ),
            {"n_jobs": 2},
        ),
    }  # fmt: skip
    for name, (make, how) in cases.items():
        began = time.perf_counter()
        try:
            found = make().evaluate(**how)
            risk, results = found.risk(), found.results()
            line = {
                "risk": risk.value, "low": risk.ci[0], "high": risk.ci[1],
                "attack": results.attack_rate.value, "control": results.control_rate.value,
                "attempts": results.n_attacks_ori,
            }  # fmt: skip
        except Exception as error:  # told, and the others still run
            line = {"error": type(error).__name__}
        print(
            json.dumps({"name": name, "seconds": time.perf_counter() - began, **line}), flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
