"""YAML with everything switched off that a release file does not need."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

DEEPEST, MOST_NODES = 16, 10_000
LONGEST_NUMBER = 40
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
# No database takes these in a name, and no terminal prints half a character.
_UNFIT = re.compile("[\0\ud800-\udfff]")


class StrictYamlError(ValueError):
    """The text is not YAML, or is YAML of a kind that is not accepted."""


class _Loader(yaml.SafeLoader):
    """Safe, and refusing aliases (they can blow up), tags, deep nesting and repeated keys."""

    depth = nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise StrictYamlError("an alias (*name)")
        peek: Any = self.peek_event  # its stub has no types
        if getattr(peek(), "tag", None) is not None:
            raise StrictYamlError("a tag (!name)")
        self.depth += 1
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise StrictYamlError(f"more than {MOST_NODES} keys and values")
        if self.depth > DEEPEST:
            raise StrictYamlError(f"nesting deeper than {DEEPEST} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        line = node.start_mark.line + 1
        # Python neither prints nor converts numbers of thousands of digits.
        if node.tag in _NUMBERS and len(value) > LONGEST_NUMBER:
            raise StrictYamlError(f"a number of more than {LONGEST_NUMBER} digits on line {line}")
        if _UNFIT.search(value):
            raise StrictYamlError(f"a NUL or half a character on line {line}")
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            line = key.start_mark.line + 1
            if not isinstance(name, str):
                raise StrictYamlError(f"a key that is not text on line {line} (put it in quotes)")
            if name in seen:
                raise StrictYamlError(f"the key {name!r} for the second time on line {line}")
            seen.add(name)
        return super().construct_mapping(node, deep)


def as_key(text: str) -> str:
    """Write a text so that YAML reads it back, in whatever place: plain, or else in quotes."""
    if re.fullmatch(r"[A-Za-z_][\w./-]*", text, re.ASCII) and yaml.safe_load(text) == text:
        return text
    return json.dumps(text)


def lines_of(content: bytes) -> dict[str, int]:
    """Find the line of each key and entry of a document that `load` took, by JSON pointer."""
    lines: dict[str, int] = {"": 1}

    def walk(node: Any, pointer: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = f"{pointer}/" + str(key.value).replace("~", "~0").replace("/", "~1")
                lines[inner] = key.start_mark.line + 1
                walk(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for i, value in enumerate(node.value):
                lines[f"{pointer}/{i}"] = value.start_mark.line + 1
                walk(value, f"{pointer}/{i}")

    try:
        walk(yaml.compose(content.decode(), Loader=_Loader), "")
    except (yaml.YAMLError, ValueError):
        return lines
    return lines


def load(content: bytes) -> Any:
    """Read one YAML document."""
    try:
        return yaml.load(content.decode(), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except UnicodeDecodeError:
        raise StrictYamlError("bytes that are not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise StrictYamlError(f"text that is not YAML on line {line} ({error.problem})") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, StrictYamlError):
            raise
        raise StrictYamlError("text that is not YAML") from None
