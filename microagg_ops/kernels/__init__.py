"""Compiled steps: arrays in, arrays out, no call longer than about a second."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numba

_COMPILED: dict[str, Any] = {}


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into its callers: handing over many arrays takes longer than it does."""
    return numba.njit(inline="always")(function)


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function, cached on disk where the disk allows it.

    No fast-math and no threads: the same input must give the same bits, and a forked child of an
    Airflow worker must be able to run it.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:
        # A read-only install without a home directory has nowhere to cache: compile each time.
        compiled = numba.njit(nogil=True, **options)(function)
    _COMPILED[f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"] = compiled
    return compiled


def lean(function: Callable[..., Any]) -> Any:
    """Compile a kernel that neither makes arrays nor gives them back.

    It need not count who uses an array: counting takes longer than what many a loop does, the more
    so where several threads count the same ones.
    """
    return kernel(function, _nrt=False)


def every_kernel() -> dict[str, Any]:
    """Load all modules of kernels; give each kernel by its name."""
    for module in iter_modules(__path__, f"{__name__}."):
        import_module(module.name)
    return dict(sorted(_COMPILED.items()))


def cache_folder(compiled: Any) -> Path | None:
    """Give the folder that keeps a compiled kernel; ``None`` where nothing can be kept."""
    return Path(compiled.stats.cache_path) if compiled.stats.cache_path else None


def is_ready(compiled: Any) -> bool:
    """Tell whether a kernel was compiled, now or earlier.

    One that is called by kernels alone is not loaded when these come from the cache.
    """
    folder, code = cache_folder(compiled), compiled.py_func.__code__
    name = f"{Path(code.co_filename).stem}.{code.co_qualname}-{code.co_firstlineno}."
    return bool(compiled.signatures) or any(folder.glob(f"{name}*.nbc") if folder else ())
