"""Packages whose names load on use: a DAG processor imports them for a few of these alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

Hooks = tuple[Callable[[str], Any], Callable[[], list[str]]]


def loaded_on_use(package: dict[str, Any], where: Mapping[str, str]) -> Hooks:
    """Make ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its ``globals()``; what was loaded once is kept there.
    where
        Public name to the module below the package that holds it.
    """

    def load(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        place = where[name]
        module = import_module(f"{package['__name__']}.{place}")
        if where.get(place) == place:  # an import binds the module to a name that is a function's
            package[place] = getattr(module, place)
        package[name] = getattr(module, name)
        return package[name]

    return load, lambda: sorted({*package, *where})
