"""Reference pages that are written while they are read, from schemas and code.

A page holds a line ``<!-- generated: KIND ARGUMENT -->``; Markdown made by the function of that
kind takes its place, so that no page can say anything else than the code does.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MARK = re.compile(r"^<!-- generated: (\w+) ?(.*?) -->$", re.MULTILINE)
Schema = dict[str, Any]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", expand)
    return {"parallel_read_safe": True}


def expand(app: Any, page: str, source: list[str]) -> None:
    """Put what is generated in the place of its mark."""
    source[0] = MARK.sub(lambda found: KINDS[found[1]](found[2]), source[0])


def schema(name: str) -> str:
    """List every key of a JSON Schema under ``schemas/``."""
    whole: Schema = json.loads((ROOT / "schemas" / name).read_text())
    parts = [whole["description"]]
    for key, node in whole["properties"].items():
        parts.append(f"## `{key}`")
        parts += described(node, whole, key in whole.get("required", []))
        below = list(keys(resolved(node, whole), whole, key))
        if below:
            parts.append("\n".join(below))
    return "\n\n".join(parts) + "\n"


def keys(node: Schema, whole: Schema, path: str) -> Iterator[str]:
    """Walk through the keys below a node, as entries of a definition list."""
    if "items" in node:
        yield from keys(resolved(node["items"], whole), whole, f"{path}[]")
    below = dict(node.get("properties", {}))
    if isinstance(node.get("additionalProperties"), dict):
        below["‹name›"] = node["additionalProperties"]
    for key, child in below.items():
        at = f"{path}.{key}"
        words = " ".join(described(child, whole, key in node.get("required", [])))
        yield f"`{at}`\n: {words}\n"
        yield from keys(resolved(child, whole), whole, at)


def described(node: Schema, whole: Schema, required: bool) -> list[str]:
    """Say what a key holds: its description, then type, range, default and why it may leave."""
    found = resolved(node, whole)
    told = ", ".join(facts(found, required))
    words = [text(found.get("description", "")), f"*{told[0].upper()}{told[1:]}.*"]
    if "$comment" in found:
        words.append(text(found["$comment"]))
    return [word for word in words if word]


def facts(node: Schema, required: bool) -> Iterator[str]:
    """Say what values a key takes."""
    if required:
        yield "required"
    if "enum" in node:
        yield "one of " + ", ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    elif "const" in node:
        yield f"always `{json.dumps(node['const'])}`"
    elif "oneOf" in node:
        yield " or ".join(kind for one in node["oneOf"] for kind in types(one))
    else:
        yield " or ".join(types(node))
    for word, about in (
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
    ):
        if word in node:
            yield f"{about} {node[word]}"
    if node.get("default") is not None:
        yield f"by default `{json.dumps(node['default'])}`"


def types(node: Schema) -> list[str]:
    """Name the types of a node."""
    found = node.get("type", "any" if "$ref" not in node else "object")
    return [found] if isinstance(found, str) else list(found)


def resolved(node: Schema, whole: Schema) -> Schema:
    """Follow a reference; what stands beside it wins."""
    if "$ref" not in node:
        return node
    target: Any = whole
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**resolved(target, whole), **{k: v for k, v in node.items() if k != "$ref"}}


def names(module: str) -> str:
    """Document every public name of a module, as its docstrings do."""
    loaded = import_module(module)
    parts = [rst([f".. py:module:: {module}"])]
    for name in loaded.__all__:
        parts.append(rst(autodoc(module, name, getattr(loaded, name))))
    return "\n\n".join(parts) + "\n"


def members(argument: str) -> str:
    """Document the names listed after a module, which has more than is public."""
    module, *listed = argument.split()
    loaded = import_module(module)
    return "\n\n".join(rst(autodoc(module, name, getattr(loaded, name))) for name in listed)


def autodoc(module: str, name: str, value: object) -> list[str]:
    """Write the directive for one name."""
    if not isinstance(value, type):
        return [f".. autofunction:: {module}::{name}"]
    if value.__module__.startswith("microagg_ops.expectations"):
        # Their constructors are those of the models of Great Expectations.
        return [f".. py:class:: {name}", "", *indented(fields(value.__doc__ or ""))]
    lines = [f".. autoclass:: {module}::{name}"]
    if value.__module__.startswith("microagg_ops.operators"):
        return [*lines, "   :show-inheritance:"]
    return [*lines, "   :members:"]


def fields(docstring: str) -> str:
    """Turn the sections of a docstring into the fields that autodoc would make of them."""
    from sphinx.ext.napoleon import Config, NumpyDocstring

    return str(NumpyDocstring(inspect.cleandoc(docstring), Config(napoleon_use_rtype=False)))


def indented(lines: str) -> list[str]:
    """Set lines under a directive."""
    return [f"   {line}" if line else "" for line in inspect.cleandoc(lines).splitlines()]


def rst(lines: list[str]) -> str:
    """Fence reStructuredText."""
    return "\n".join(["```{eval-rst}", *lines, "```"])


def command_line(_: str) -> str:
    """Describe every verb of the command line."""
    from microagg_ops.cli.main import parser

    top = parser()
    verbs = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    parts, seen = [top.epilog or ""], {}
    for name, verb in verbs.choices.items():
        usage = re.sub(r"\s+", " ", verb.format_usage()).removeprefix("usage: ").strip()
        parts += [f"## `microagg {name}`", f"{verb.description}.".capitalize(), fenced(usage)]
        parts.append(
            fenced((verb.epilog or "").replace("examples:\n", "").replace("  micro", "micro"))
        )
        listed = "\n".join(argument(verb, a) for a in verb._actions if a.dest != "help")
        same = seen.setdefault(listed, name)
        parts.append(listed if same == name else f"It takes what `microagg {same}` takes.")
    return "\n\n".join(parts) + "\n"


def argument(verb: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Describe one argument."""
    called = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    if action.option_strings and action.nargs != 0:
        called += f" {action.metavar or action.dest.upper()}"
    about = verb._get_formatter()._expand_help(action) if action.help else ""
    return f"`{called}`\n: {text(about)}\n"


def fenced(code: str) -> str:
    """Fence a line of a shell."""
    return f"```text\n{code}\n```"


def methods(_: str) -> str:
    """List the methods with what each takes."""
    from microagg_ops.methods.registry import METHODS

    rows = ["| method | what it does |", "|---|---|"]
    rows += [f"| `{method.name}` | {text(method.about)} |" for method in METHODS.values()]
    return "\n".join(rows) + "\n"


def papers(_: str) -> str:
    """List the papers with the methods of each."""
    from microagg_ops.methods.papers import PAPERS

    rows = ["| methods | paper |", "|---|---|"]
    for paper in dict.fromkeys(PAPERS.values()):
        methods = ", ".join(f"`{name}`" for name, found in PAPERS.items() if found == paper)
        rows.append(f"| {methods} | {paper} |")
    return "\n".join(rows) + "\n"


def checks(_: str) -> str:
    """List the checks with what turns each on."""
    from microagg_ops.checks import CHECKS

    rows = [
        "| key | check | what must hold on the bytes to be published | publish counts again |",
        "|---|---|---|---|",
    ]
    rows += [
        f"| {one.key} | {one.shown} | {one.about} | {'yes' if one.is_recounted else ''} |"
        for one in CHECKS
    ]
    return "\n".join(rows) + "\n"


def profiles(_: str) -> str:
    """List the profiles of regulators with their thresholds."""
    from microagg_ops.release.profiles import PROFILES

    rows = ["| `profile:` | document | asks for | k at least |", "|---|---|---|---:|"]
    for name, profile in PROFILES.items():
        asked = "; ".join(
            f"`{key}` {found.value:.4g}" + (" by convention" if found.convention else "")
            for key, found in profile.thresholds()
        )
        rows.append(f"| `{name}` | {text(profile.source)} | {asked} | {profile.k} |")
    return "\n".join(rows) + "\n"


def options(_: str) -> str:
    """List the options of the provider in Airflow's configuration."""
    from microagg_ops.get_provider_info import get_provider_info

    listed = get_provider_info()["config"]["microagg"]["options"]
    return "\n".join(
        f"`{name}`\n: {text(option['description'])} *Since {option['version_added']}.*\n"
        for name, option in listed.items()
    )


def layers(_: str) -> str:
    """Draw the layers that import-linter enforces, the highest first."""
    import tomllib

    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    contract = next(c for c in tool["importlinter"]["contracts"] if c["type"] == "layers")
    lines = [layer.replace("microagg_ops.", "") for layer in contract["layers"]]
    return fenced("\n".join(lines))


def changelog(_: str) -> str:
    """Show the changelog of the project."""
    return (ROOT / "CHANGELOG.md").read_text().partition("\n")[2].replace("](docs/", "](")


def benchmark(name: str) -> str:
    """Quote a section of the benchmarks' results, below a heading of the page."""
    found = (ROOT / "tests" / "benchmarks" / "results" / name).read_text()
    found = re.sub(r"^!\[.*\n", "", found, flags=re.MULTILINE)
    return re.sub(r"^(#+)", r"\1#", found, flags=re.MULTILINE)


def text(words: str) -> str:
    """Take words as they are: what Markdown would take for markup is none."""
    return re.sub(r"([<>*|\[\]{}$])", r"\\\1", words)


KINDS: dict[str, Callable[[str], str]] = {
    made.__name__: made
    for made in (
        schema, names, members, command_line, methods, papers, checks, profiles, options, layers,
        changelog, benchmark,
    )
}  # fmt: skip
