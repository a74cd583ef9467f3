"""Too little memory is told as that: before the work where it is certain, and in its midst."""

from __future__ import annotations

import errno
import subprocess
import sys

import pyarrow as pa
import pytest

from microagg_ops.errors import DataError, scrubbed
from microagg_ops.stages import memory
from microagg_ops.stages.memory import check_memory, room


def test_what_has_no_room_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "room", lambda: 1 << 30)
    check_memory(1_000_000, 10)
    with pytest.raises(DataError, match="1.8 GiB of memory are needed for 2,000,000 rows") as one:
        check_memory(2_000_000, 10)
    assert one.value.code == "too_little_memory"
    assert "fewer columns" in one.value.hint
    monkeypatch.setattr(memory, "room", lambda: None)
    check_memory(10**9, 1000)


def test_there_is_room_here() -> None:
    found = room()
    assert found is None or found > 1 << 20


def test_a_limit_of_the_process_counts() -> None:
    script = (
        "import resource\n"
        "from microagg_ops.stages.memory import check_memory, room\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "assert room() < 1 << 30, room()\n"
        "check_memory(5_000_000, 20)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "8.9 GiB of memory are needed for 5,000,000 rows of 20 columns" in done.stderr


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("canary"),
        pa.ArrowMemoryError("malloc of size 64 failed"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        OSError("libx.so: failed to map segment from shared object"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_no_memory_is_called_so(error: Exception) -> None:
    found = scrubbed(error)
    assert (found.code, found.retryable) == ("out_of_memory", True)
    assert "not enough memory" in found.message and "fewer columns" in found.hint


def test_other_faults_are_not() -> None:
    assert scrubbed(OSError(errno.EIO, "input/output error")).code == "fault"
