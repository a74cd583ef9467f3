"""The cache of compiled kernels: it forgets what was compiled from other sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import microagg_ops
from microagg_ops import kernels
from microagg_ops.kernels.mdav import branch_and_bound, queries

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)
# ``take`` calls ``add``, of another module, and has it compiled into it.
SCRIPT = """
import numpy as np
from microagg_ops.kernels import is_ready
from microagg_ops.kernels.mdav.fmdav import take
print(is_ready(take))
points, one = np.ones((1, 2)), np.zeros(1, np.int64)
total = np.full(1, 5.0)
rest, labels = np.zeros(1), np.zeros(2, np.int32)
take(points, np.ones(2), np.arange(2), one, total, rest, labels, 0, np.ones(2))
print(total[0], sum(take.stats.cache_misses.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, whose sources may be changed."""
    source = Path(microagg_ops.__file__).parent
    shutil.copytree(source, tmp_path / "microagg_ops", ignore=shutil.ignore_patterns("*.nb?"))
    return tmp_path


def run(package: Path) -> list[str]:
    """Say whether the kernel was ready, what it finds, and how often it was compiled."""
    environment = os.environ | {
        "PYTHONPATH": str(package),
        "NUMBA_CACHE_DIR": str(package / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def edit(path: Path, old: str, new: str) -> None:
    source = path.read_text()
    assert old in source
    path.write_text(source.replace(old, new))


@pytest.mark.parametrize("stamped", [True, False])
def test_an_older_callee_is_not_used(package: Path, stamped: bool) -> None:
    folder = package / "microagg_ops" / "kernels"
    if not stamped:  # numba alone does not notice: without the stamp this test would fail
        edit(folder / "__init__.py", "        stamp(compiled)\n", "")
    assert run(package) == ["False", "4.0", "1"]
    assert run(package) == ["True", "4.0", "0"]
    edit(folder / "sums.py", "    total[j] = after\n", "    total[j] = after + 9\n")
    assert run(package) == (["False", "13.0", "1"] if stamped else ["True", "4.0", "0"])


def test_the_stamp_is_of_all_sources_the_compiler_and_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = kernels.digest_of_all.__wrapped__
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one.py").write_text("a = 1")
    seen = {digest(tmp_path)}
    assert digest(tmp_path) in seen
    (tmp_path / "deep" / "one.py").write_text("a = 2")
    seen.add(digest(tmp_path))
    (tmp_path / "deep" / "one.py").rename(tmp_path / "one.py")
    seen.add(digest(tmp_path))
    for name, other in (
        ("numba.__version__", "0"),
        ("llvmlite.__version__", "0"),
        ("get_host_cpu_name", lambda: "another"),
        ("get_host_cpu_features", lambda: {"sse2": False}),
    ):
        monkeypatch.setattr(f"microagg_ops.kernels.{name}", other)
        seen.add(digest(tmp_path))
    assert len(seen) == 7


def test_the_weight_of_the_farthest_follows_from_the_antipode() -> None:
    # Boxes weigh in eighths: with any other pair of the two the farthest rows would be missed.
    weight = (1 + 1 / queries.ANTIPODE) * 8
    assert weight == pytest.approx(int(queries.FAR), rel=1e-15)
    assert branch_and_bound.FAR is queries.FAR
