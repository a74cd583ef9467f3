"""The schemas say what the code does, and say it in words."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from microagg_ops.grouping import GROUPINGS
from microagg_ops.methods.registry import METHODS
from microagg_ops.release.document import Quasi, check_release
from microagg_ops.release.faults import schema
from microagg_ops.release.model import Release

SCHEMAS = ("release", "report", "external", "manifest")
# Computed from the file, not written in it; and the other way round: a file stands for a table.
NOT_IN_THE_FILE, IN_THE_FILE_ALONE = {"digest", "folder"}, {"file"}
# Fields whose key Python keeps for itself.
KEYWORDS = {"others": "with"}


def sections(cls: type, described: dict[str, Any], pointer: str = "") -> Iterator[Any]:
    """Each dataclass of a release beside the part of the schema that describes it."""
    yield pytest.param(cls, described, id=pointer or "/")
    hints = get_type_hints(cls)
    for name, part in described["properties"].items():
        if "properties" in part and is_dataclass(hints[name]):
            yield from sections(hints[name], part, f"{pointer}/{name}")
        elif isinstance(part.get("additionalProperties"), dict):
            for inner in filter(is_dataclass, get_args(hints[name])):
                yield from sections(inner, part["additionalProperties"], f"{pointer}/{name}/*")


def default(field: Field[Any]) -> Any:
    """A field's default as JSON has it; a section's default is that of its own fields."""
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if isinstance(value, tuple):
        return list(value)
    return MISSING if is_dataclass(value) else value


SECTIONS = list(sections(Release, schema("release")))
in_every_section = pytest.mark.parametrize(("cls", "described"), SECTIONS)


def test_every_section_is_walked() -> None:
    walked = {case.id for case in SECTIONS}
    names = {
        "about",
        "sample",
        "source",
        "columns",
        "standardize",
        "group",
        "aggregate",
        "validate",
        "report",
        "series",
    }
    inner = {
        "/columns/quasi/*",
        "/source/format",
        "/validate/l/*",
        "/validate/t/*",
        "/validate/attacks",
        "/validate/dominance",
    }
    assert walked == {"/", "/publish"} | inner | {f"/{name}" for name in names}
    assert Quasi in {case.values[0] for case in SECTIONS}


def key_of(field: Any) -> str:
    return KEYWORDS.get(field.name, field.name)


@in_every_section
def test_keys_are_fields(cls: type, described: dict[str, Any]) -> None:
    keys = set(described["properties"]) - IN_THE_FILE_ALONE
    assert keys == {key_of(f) for f in fields(cls) if f.name not in NOT_IN_THE_FILE}


@in_every_section
def test_required_keys_are_fields_without_default(cls: type, described: dict[str, Any]) -> None:
    without = {f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING}
    required = described.get("required") or described.get("else", {}).get("required", ())
    assert set(required) == without


@in_every_section
def test_defaults_are_those_of_the_fields(cls: type, described: dict[str, Any]) -> None:
    keys = {k: part for k, part in described["properties"].items() if k not in IN_THE_FILE_ALONE}
    written = {name: part.get("default", MISSING) for name, part in keys.items()}
    assert written == {key_of(f): default(f) for f in fields(cls) if f.name not in NOT_IN_THE_FILE}


@in_every_section
def test_no_other_key_is_taken(cls: type, described: dict[str, Any]) -> None:
    assert described["additionalProperties"] is False


def described_parts(part: Any, root: dict[str, Any], pointer: str = "") -> Iterator[Any]:
    """Every property and definition, with its pointer."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "allOf":  # conditions, not keys
                continue
            at = f"{pointer}/{key}"
            if key in ("properties", "$defs"):
                yield from ((f"{at}/{name}", inner) for name, inner in value.items())
                for name, inner in value.items():
                    yield from described_parts(inner, root, f"{at}/{name}")
            else:
                yield from described_parts(value, root, at)
    elif isinstance(part, list):
        for i, inner in enumerate(part):
            yield from described_parts(inner, root, f"{pointer}/{i}")


def description(part: dict[str, Any], root: dict[str, Any]) -> str:
    """A part's own description, or that of the definition it refers to."""
    referred = root["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else {}
    return str(part.get("description") or referred.get("description") or "")


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_property_and_definition_is_described(name: str) -> None:
    root = schema(name)
    parts = list(described_parts(root, root))
    assert len(parts) > 30
    assert [pointer for pointer, part in parts if not description(part, root)] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_draft_2020_12(name: str) -> None:
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema(name))


def test_the_example_has_no_fault() -> None:
    example = Path(__file__).parents[2] / "dags" / "clinic_patients.yaml"
    assert check_release(example) == []


@pytest.mark.parametrize(("section", "known"), [("aggregate", METHODS), ("group", GROUPINGS)])
def test_methods_of_the_schema_are_those_there_are(section: str, known: dict[str, Any]) -> None:
    methods = schema("release")["properties"][section]["properties"]["method"]["enum"]
    assert sorted(methods) == sorted(known)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_schema_knows_the_parameters_of_each_method(name: str) -> None:
    section = schema("release")["properties"]["aggregate"]
    taken = set(inspect.signature(METHODS[name].load()).parameters)
    allowed = [
        rule["then"]["properties"]["params"]["propertyNames"]["enum"]
        for rule in section["allOf"]
        if name in rule["if"]["properties"]["method"]["enum"]
    ]
    assert [sorted(names) for names in allowed] == [
        sorted(taken - {"points", "k", "seed", "clock"})
    ]
    assert set(allowed[0]) <= set(section["properties"]["params"]["properties"])


def test_every_key_of_the_external_report_says_why_it_is_safe() -> None:
    root = schema("external")
    parts = list(described_parts(root, root))
    assert len(parts) > 40
    assert [at for at, part in parts if not part.get("$comment", "").startswith("Safe: ")] == []


def test_the_external_report_lists_exactly_what_may_be_there() -> None:
    def objects(part: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(part, dict):
            if "properties" in part:
                yield at, part
            for key, inner in part.items():
                yield from objects(inner, f"{at}/{key}")

    for at, part in objects(schema("external")):
        assert part["additionalProperties"] is False, at
        assert set(part["required"]) == set(part["properties"]), at
