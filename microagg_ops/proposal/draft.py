"""A proposal as a release file, with a reason beside each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from microagg_ops.proposal import roles as r
from microagg_ops.proposal.facts import Facts
from microagg_ops.proposal.source import BORNE, Column, Proposal
from microagg_ops.release.strict_yaml import as_key

TOP = """\
# Drafted by `microagg init` from {source}: {rows:,} rows, {columns} columns.
# No program knows what outsiders know. Read each line, and move columns to where they belong;
# then `microagg check` and `microagg run` this file."""
MUCH = ("# That is much: leave out columns that nobody needs, or let sensitive ones be sensitive.",)
COMMENTS = {
    "identifiers": "Each names a person by itself: never published.",
    "entity": "k counts these, not rows; the key itself is dropped.",
    "quasi": "What an outsider could know of a person: published as means, medians or modes of k.",
    "sensitive": "Published as they are, for the table is about them.",
}


def drafted(proposal: Proposal) -> str:
    """Write a proposal as a release file."""
    document = proposal.document
    count = len(proposal.columns)
    lines = [
        TOP.format(source=proposal.source, rows=proposal.rows, columns=count),
        f"release: {document['release']}",
        f"source: {flow(document['source'])}",
        "columns:",
        *_columns(document["columns"], {c.facts.name: c for c in proposal.columns}),
    ]
    left = [c for c in proposal.columns if c.role.name == r.LEFT_OUT]
    if left:
        lines.append("# Not named, so they never leave the source:")
        lines += [f"#   {as_key(c.facts.name)}: {c.role.why}" for c in left]
    lines += [""]
    if "nulls" in document:
        lines += [
            "# Rows that are NULL in the same columns form classes of their own.",
            f"nulls: {document['nulls']}",
        ]
    lines += [
        f"# {told_uniques(proposal)}",
        *(f"# {line}" for line in told_losses(proposal)),
        *(MUCH if (proposal.losses.get(proposal.k) or 0.0) > BORNE else ()),
        f"aggregate: {flow(document['aggregate'])}",
    ]
    if "validate" in document:
        lines += [
            "# In every class two values of it or more: else whoever is in the class has it.",
            f"validate: {flow(document['validate'])}",
        ]
    lines += [f"publish: {flow(document['publish'])}", ""]
    return "\n".join(lines)


def told_uniques(proposal: Proposal) -> str:
    """Say how many rows anybody could find who knows the quasi-identifiers."""
    share = proposal.uniques / proposal.rows
    return (
        f"{proposal.uniques:,} rows ({share:.0%}) are the only ones with their quasi-identifiers."
    )


def told_losses(proposal: Proposal) -> Iterator[str]:
    """Say what several k would lose."""
    for k, loss in proposal.losses.items():
        chosen = " (proposed)" if k == proposal.k else ""
        cost = "cannot be had as it is" if loss is None else f"loses {loss:.1f} % of the variance"
        yield f"k = {k}: {cost}{chosen}"
    if proposal.looked_at < proposal.rows:
        yield f"That is of {proposal.looked_at:,} rows drawn; all together lose less"


def told_facts(fact: Facts) -> str:
    """Say what was counted of a column."""
    parts = [f"{fact.values:,} values, {fact.bits:.1f} bits"]
    if fact.nulls:
        parts.append(f"NULL in {fact.nulls / fact.rows:.0%}")
    if fact.risk is not None:
        parts.append(f"{fact.risk:.0%} of the risk")
    if fact.like:
        parts.append(f"goes along with {fact.like} ({fact.likeness:.2f})")
    return ", ".join(parts)


def _columns(columns: Mapping[str, Any], found: Mapping[str, Column]) -> Iterator[str]:
    for key, words in COMMENTS.items():
        if key not in columns:
            continue
        yield f"  # {words}"
        given = columns[key]
        if isinstance(given, str):
            yield from _aligned([(f"  {key}: {as_key(given)}", found[given].role.why)])
            continue
        yield f"  {key}:"
        rows = []
        for name in given:
            column = found[name]
            how = f"{as_key(name)}: {flow(given[name])}" if key == "quasi" else f"- {as_key(name)}"
            rows.append((f"    {how}", f"{column.role.why}; {told_facts(column.facts)}"))
        yield from _aligned(rows)


def _aligned(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(len(text) for text, _ in rows)
    yield from (f"{text.ljust(width)}  # {words}" for text, words in rows)


def flow(value: Any) -> str:
    """Write a value in one line of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_key(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    return as_key(value) if isinstance(value, str) else str(value)
