"""``microagg methods``: all of them, or one with its parameters and its paper."""

from __future__ import annotations

from typing import Any

from microagg_ops.methods.papers import PAPERS
from microagg_ops.methods.registry import METHODS, Method
from microagg_ops.release.faults import schema

Result = tuple[dict[str, Any], list[str]]
EVERY_METHOD = ("k", "seed", "budget", "threads")


def listed() -> Result:
    """List the methods."""
    return (
        {"methods": {method.name: method.about for method in METHODS.values()}},
        [
            *(f"{method.name:<17} {method.about}" for method in METHODS.values()),
            "",
            "`microagg methods NAME` tells the parameters of one, and its paper.",
        ],
    )


def told(name: str) -> Result:
    """Tell about a method."""
    from microagg_ops.compare import known

    (found,) = known([name])
    method = METHODS[found]
    params = list(parameters(method))
    paper = PAPERS.get(found, "")
    document = {
        "method": found,
        "about": method.about,
        "params": {one["name"]: one for one in params},
        "paper": paper or None,
    }
    lines = [f"{found}: {method.about}", ""]
    for one in params:
        lines += [f"  {one['name']} (default: {shown(one['default'])})", f"      {one['about']}"]
    if not params:
        lines.append("  It has no parameters of its own.")
    lines += [
        "",
        f"As every method it takes {', '.join(EVERY_METHOD)}. In a release file:",
        f"  aggregate: {{method: {found}, k: 5{example(method)}}}",
        "",
        f"Paper: {paper.replace('*', '')}." if paper else written(method),
    ]
    return document, lines


def parameters(method: Method) -> list[dict[str, Any]]:
    """Return the parameters of a method with their defaults, in the words of the schema."""
    words = schema("release")["properties"]["aggregate"]["properties"]["params"]["properties"]
    return [
        {"name": name, "default": default, "about": words.get(name, {}).get("description", "")}
        for name, default in method.params.items()
    ]


def shown(default: Any) -> str:
    """Write a default as YAML has it."""
    if default is None:
        return "null"
    return str(default).lower() if isinstance(default, bool) else str(default)


def written(method: Method) -> str:
    """Say who wrote a method that was published nowhere."""
    own = method.where.startswith("microagg_ops.")
    return "Written for this package." if own else "Another package adds it."


def example(method: Method) -> str:
    """Return what a release file would say besides; a search has a budget."""
    return ", budget: 60s" if method.searches else ""
