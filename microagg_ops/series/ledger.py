"""The ledger: the private memory of a series, who was published in which class, and when.

One Arrow table of one shape, so that it fits a file and a table of any warehouse, and plain SQL
can recount it. Entities are keyed digests; of their values there are keyed digests alone, but for
what is published anyway.

============  ==============  ========  ===========  =======  =======  ======  ====================
part          entity          class     since        until    changed  place   value
============  ==============  ========  ===========  =======  =======  ======  ====================
series        its name                  epoch begins                           JSON
publication   the run                   its number                             JSON
class                         its id    born                                   its published rows
member        keyed digest    its id    joined       last     mask     row     digests of the record
waiting       keyed digest              first seen
gone          keyed digest              first missed
erase         keyed digest              first asked
============  ==============  ========  ===========  =======  =======  ======  ====================
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from microagg_ops.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
#: The columns of a ledger and their Arrow types.
COLUMNS = {
    "part": "string", "entity": "string", "class": "string", "since": "int64", "until": "int64",
    "changed": "int64", "place": "int64", "value": "string",
}  # fmt: skip


class Member(NamedTuple):
    """An entity in a class, from a publication on.

    Parameters
    ----------
    entity
        Its keyed digest.
    group
        The id of the class.
    since, until
        The numbers of the first and of the last publication; ``None`` while it lasts.
    changed
        A bit for each column in which the entity's record differs from the one before.
    place
        Its row among those of the class.
    record
        The keyed digests of its published values, column by column.
    """

    entity: str
    group: str
    since: int
    until: int | None
    changed: int
    place: int
    record: str


class Publication(NamedTuple):
    """A publication: digests of the table, its input and the release file.

    Parameters
    ----------
    number, run_id, at
        Which it is, of which run, and when.
    digest, columns
        Of the published table, and its columns with their types.
    input, release
        The keyed digest of what was read, and the digest of the release file.
    interval
        The start of the data interval where rows are marked with it.
    """

    number: int
    run_id: str
    at: str
    digest: str
    columns: Mapping[str, str]
    input: str
    release: str
    interval: str | None


@dataclass(frozen=True)
class Ledger:
    """What a series remembers.

    Parameters
    ----------
    series
        The name of the release.
    key
        A keyed digest of that name: who has another key has other digests of entities.
    epoch, began
        The epoch as the release file calls it, and the number of its first publication.
    spread
        The mean squared distance within the classes of that publication.
    publications
        All of them, in order.
    members
        Of all epochs, in the order in which they joined.
    classes
        The published rows of each class that lasts.
    waiting, gone
        Since which publication newcomers wait, and leavers are held.
    k
        The least k that was promised; 0 before the first publication.
    seen
        Of other series that this one is counted together with: how many publications they had.
    erase
        Since which publication entities are to be taken out, and not published again.
    revision
        How often it was changed between publications.
    """

    series: str
    key: str
    epoch: str = ""
    began: int = 1
    spread: float | None = None
    publications: tuple[Publication, ...] = ()
    members: tuple[Member, ...] = ()
    classes: Mapping[str, pa.Table] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)
    k: int = 0
    seen: Mapping[str, int] = field(default_factory=dict)
    erase: Mapping[str, int] = field(default_factory=dict)
    revision: int = 0

    @property
    def next(self) -> int:
        """The number of the publication to come."""
        return len(self.publications) + 1

    @property
    def last(self) -> Publication | None:
        """The last publication."""
        return self.publications[-1] if self.publications else None

    def current(self) -> dict[str, list[Member]]:
        """Group the members of classes that last by class, in the order of their rows."""
        found: dict[str, list[Member]] = {}
        for member in self.members:
            if member.until is None:
                found.setdefault(member.group, []).append(member)
        return {name: sorted(those, key=lambda m: m.place) for name, those in found.items()}

    def in_epoch(self) -> list[Member]:
        """List the members of this epoch."""
        return [m for m in self.members if m.since >= self.began]

    def begin(self, epoch: str) -> Ledger:
        """Begin an epoch: all classes end with the last publication, and nobody waits."""
        ended = tuple(
            m._replace(until=self.next - 1) if m.until is None else m for m in self.members
        )
        return replace(
            self, epoch=epoch, began=self.next, spread=None, members=ended, classes={},
            waiting={}, gone={},
        )  # fmt: skip

    def table(self) -> pa.Table:
        """Write the ledger as one table."""
        import pyarrow as pa

        columns = zip(*self._rows(), strict=True)
        return pa.table(
            {
                name: pa.array(cells, pa.type_for_alias(kind))
                for (name, kind), cells in zip(COLUMNS.items(), columns, strict=True)
            }
        )

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        about = {
            "format": FORMAT, "key": self.key, "epoch": self.epoch, "spread": self.spread,
            "k": self.k, "seen": dict(self.seen), "revision": self.revision,
        }  # fmt: skip
        yield "series", self.series, None, self.began, None, None, None, json.dumps(about)
        for one in self.publications:
            told = json.dumps(list(one[2:]))
            yield "publication", one.run_id, None, one.number, None, None, None, told
        for name, rows in self.classes.items():
            yield "class", None, name, None, None, None, None, packed(rows)
        for m in self.members:
            yield "member", m.entity, m.group, m.since, m.until, m.changed, m.place, m.record
        of_whom = (("waiting", self.waiting), ("gone", self.gone), ("erase", self.erase))
        for part, whom in of_whom:
            for entity, since in whom.items():
                yield part, entity, None, since, None, None, None, None


def read_ledger(table: pa.Table) -> Ledger:
    """Read what `Ledger.table` wrote; the order of the rows does not matter."""
    parts: dict[str, list[tuple[Any, ...]]] = {}
    missing = [name for name in COLUMNS if name not in table.column_names]
    columns = [] if missing else [table[name].to_pylist() for name in COLUMNS]
    for part, *rest in zip(*columns, strict=True):
        parts.setdefault(part, []).append(tuple(rest))
    if len(parts.get("series", ())) != 1:
        raise unreadable()
    try:
        return _assembled(parts)
    except (KeyError, ValueError, TypeError):
        raise unreadable() from None


def _assembled(parts: Mapping[str, list[tuple[Any, ...]]]) -> Ledger:
    name, _, began, _, _, _, value = parts["series"][0]
    about = json.loads(value)
    if about["format"] != FORMAT:
        raise ValueError(about["format"])
    publications = sorted(
        (Publication(row[2], row[0], *json.loads(row[6])) for row in parts.get("publication", ())),
        key=lambda one: one.number,
    )
    return Ledger(
        series=name,
        key=about["key"],
        epoch=about["epoch"],
        began=began,
        spread=about["spread"],
        publications=tuple(publications),
        members=tuple(
            sorted((Member(*row) for row in parts.get("member", ())), key=lambda m: (m.since, m))
        ),
        classes={row[1]: unpacked(row[6]) for row in sorted(parts.get("class", ()), key=by_class)},
        waiting={row[0]: row[2] for row in parts.get("waiting", ())},
        gone={row[0]: row[2] for row in parts.get("gone", ())},
        k=about["k"],
        seen=about["seen"],
        erase={row[0]: row[2] for row in parts.get("erase", ())},
        revision=about["revision"],
    )


def by_class(row: tuple[Any, ...]) -> tuple[int, ...]:
    """Order classes by birth: their ids are two numbers."""
    return tuple(int(part) for part in row[1].split("."))


def unreadable() -> DataError:
    """Refuse a ledger that is none."""
    return DataError(
        "The ledger of the series is not what this package wrote.",
        code="bad_ledger",
        hint="Restore it from a copy. Nothing was published.",
    )


def packed(rows: pa.Table) -> str:
    """Write rows as text, types and all."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return base64.b64encode(sink.getvalue()).decode()


def unpacked(text: str) -> pa.Table:
    """Read rows that `packed` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(base64.b64decode(text, validate=True)) as reader:
        return reader.read_all()
