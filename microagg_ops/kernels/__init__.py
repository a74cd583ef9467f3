"""Compiled steps: arrays in, arrays out, no call longer than about a second."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import llvmlite
import numba
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba.core import event

from microagg_ops.compiling import COMPILING

_COMPILED: dict[str, Any] = {}


class Watch(event.Listener):  # type: ignore[misc]
    """Stop the clocks of budgets while kernels are compiled, or loaded from the cache."""

    def on_start(self, event: Any) -> None:
        """Note that a thread wants the compiler."""
        COMPILING.begin()

    def on_end(self, event: Any) -> None:
        """Note that it is done."""
        COMPILING.end()


class Announcement(event.Listener):  # type: ignore[misc]
    """Say that something is compiled, which loading is not."""

    def on_start(self, event: Any) -> None:
        """Say it."""
        COMPILING.say()

    def on_end(self, event: Any) -> None:
        """Say nothing."""


event.register("numba:compiler_lock", Watch())
event.register("numba:compile", Announcement())


@cache
def digest_of_all(folder: Path = Path(__file__).parent) -> str:
    """Digest what compiled code depends on: all kernels, the compiler, the processor.

    numba looks at the file of a kernel, not at those of the kernels that were compiled into it.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(source)}\n".encode() + source)
    machine = get_host_cpu_name(), sorted(get_host_cpu_features().items())
    digest.update(repr((numba.__version__, llvmlite.__version__, machine)).encode())
    return digest.hexdigest()


def stamp(compiled: Any) -> None:
    """Let the cache of a kernel know whether anything changed that went into it."""
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = digest_of_all()


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into its callers: passing many arrays takes longer than its work."""
    return numba.njit(inline="always")(function)


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function, cached on disk where the disk allows it.

    No fast-math and no threads: the same input must give the same bits, and a forked child of an
    Airflow worker must be able to run it.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
        stamp(compiled)
    except RuntimeError:
        # A read-only install without a home directory has nowhere to cache: compile each time.
        compiled = numba.njit(nogil=True, **options)(function)
    _COMPILED[f"{function.__module__}.{function.__qualname__}".removeprefix(f"{__name__}.")] = (
        compiled
    )
    return compiled


def lean(function: Callable[..., Any]) -> Any:
    """Compile a kernel that neither allocates nor returns arrays, without reference counting.

    Counting takes longer than the work of many a loop, the more so where several threads count
    references to the same arrays.
    """
    return kernel(function, _nrt=False)


def every_kernel() -> dict[str, Any]:
    """Import all families of kernels; map names such as ``mdav.tree.remove`` to kernels."""
    for module in walk_packages(__path__, f"{__name__}."):
        import_module(module.name)
    return dict(sorted(_COMPILED.items()))


def cache_folder(compiled: Any) -> Path | None:
    """Return the folder that keeps a compiled kernel; ``None`` where nothing can be kept."""
    return Path(compiled.stats.cache_path) if compiled.stats.cache_path else None


def cache_root() -> Path | None:
    """Return the folder below which all kernels are cached; ``None`` where none can be."""
    folders = {cache_folder(compiled) for compiled in _COMPILED.values()} - {None}
    return Path(os.path.commonpath([str(folder) for folder in folders])) if folders else None


def is_ready(compiled: Any) -> bool:
    """Return whether a kernel was compiled, now or earlier, from the sources as they are.

    One that is called by kernels alone is not loaded when these come from the cache.
    """
    if not hasattr(compiled, "signatures"):  # numba was told to compile nothing
        return True
    kept = getattr(compiled._cache, "_cache_file", None)
    return bool(compiled.signatures) or bool(kept is not None and kept._load_index())
