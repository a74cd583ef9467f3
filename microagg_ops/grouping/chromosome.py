"""Groupings as chromosomes, and the operators that make new ones (Balasch i Masoliver, 2010).

A chromosome has an object part, which names the group of each column, and a group part, which
lists the groups: operators inherit and change whole groups, which are what a solution consists of.
The names of groups mean nothing, so two chromosomes can be clones: one grouping, one `key`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator

# Each group as the bits of its columns, in rising order: the same for clones.
Key = tuple[int, ...]
Parts = list[list[int]]


@dataclass(frozen=True)
class Chromosome:
    """A grouping of columns.

    Parameters
    ----------
    objects
        Column to group.
    groups
        The groups, in an order that only the crossover looks at.
    """

    objects: tuple[int, ...]
    groups: tuple[int, ...]

    @property
    def parts(self) -> Parts:
        """The columns of each group, in the order of the group part."""
        found: dict[int, list[int]] = {group: [] for group in self.groups}
        for column, group in enumerate(self.objects):
            found[group].append(column)
        return list(found.values())

    @cached_property
    def key(self) -> Key:
        """What clones share."""
        return tuple(sorted(sum(1 << column for column in part) for part in self.parts))


def encoded(parts: Sequence[Sequence[int]]) -> Chromosome:
    """Make a chromosome of groups, which are named anew in their order; empty ones are left out."""
    full = [part for part in parts if part]
    objects = [0] * sum(map(len, full))
    for name, part in enumerate(full):
        for column in part:
            objects[column] = name
    return Chromosome(tuple(objects), tuple(range(len(full))))


def columns_of(group: int) -> list[int]:
    """Return the columns of a group of a key."""
    return [column for column in range(group.bit_length()) if group >> column & 1]


def drawn(columns: int, rng: Generator) -> Chromosome:
    """Put each column into one of as many groups as there are columns."""
    parts: Parts = [[] for _ in range(columns)]
    for column, group in enumerate(rng.integers(0, columns, columns).tolist()):
        parts[group].append(column)
    return encoded(parts)


def crossover(one: Chromosome, other: Chromosome, rng: Generator) -> list[Chromosome]:
    """Make two children: each has some groups of one parent, and is else grouped as the other."""
    sites = [crossing_site(parent, rng) for parent in (one, other)]
    return [injected(sites[0], other), injected(sites[1], one)]


def crossing_site(parent: Chromosome, rng: Generator) -> Parts:
    """Choose a section of the group part, one group or more."""
    start, stop = sorted(rng.choice(len(parent.groups) + 1, 2, replace=False).tolist())
    return parent.parts[start:stop]


def injected(groups: Parts, parent: Chromosome) -> Chromosome:
    """Make a child with these groups, whose other columns are grouped as in the parent."""
    taken = {column for group in groups for column in group}
    others = [[column for column in part if column not in taken] for part in parent.parts]
    return encoded([*groups, *others])


def group_create(parent: Chromosome, rng: Generator) -> Chromosome:
    """Make a new group of any columns."""
    columns = len(parent.objects)
    size = int(rng.integers(1, columns + 1))
    return injected([sorted(rng.choice(columns, size, replace=False).tolist())], parent)


def group_eliminate(parent: Chromosome, rng: Generator) -> Chromosome:
    """Share the columns of a group out among the others; of a single group a clone is made."""
    parts = parent.parts
    if len(parts) == 1:
        return parent
    gone = parts.pop(int(rng.integers(len(parts))))
    for column in gone:
        parts[int(rng.integers(len(parts)))].append(column)
    return encoded([sorted(part) for part in parts])


def group_split(parent: Chromosome, rng: Generator) -> Chromosome:
    """Split a group in two halves; of a group of one column a clone is made."""
    parts = parent.parts
    split = parts.pop(int(rng.integers(len(parts))))
    mixed = rng.permutation(split).tolist()
    half = len(mixed) // 2
    return encoded([*parts, sorted(mixed[half:]), sorted(mixed[:half])])


def element_swap(parent: Chromosome, rng: Generator) -> Chromosome:
    """Let two columns change places."""
    objects = list(parent.objects)
    if len(objects) > 1:
        one, other = rng.choice(len(objects), 2, replace=False).tolist()
        objects[one], objects[other] = objects[other], objects[one]
    return Chromosome(tuple(objects), parent.groups)


def element_move(parent: Chromosome, rng: Generator) -> Chromosome:
    """Move a column to another group; of a single group a clone is made."""
    parts = parent.parts
    if len(parts) == 1:
        return parent
    column = int(rng.integers(len(parent.objects)))
    home = parent.groups.index(parent.objects[column])
    target = (home + 1 + int(rng.integers(len(parts) - 1))) % len(parts)
    parts[home].remove(column)
    parts[target] = sorted([*parts[target], column])
    return encoded(parts)


def neighbours(parent: Chromosome) -> Iterator[Chromosome]:
    """Yield every grouping that is one move, swap or merger away."""
    parts, columns = parent.parts, range(len(parent.objects))
    for column in columns:
        others = [[c for c in part if c != column] for part in parts]
        yield encoded([*others, [column]])
        for i, part in enumerate(others):
            yield encoded([*others[:i], sorted([*part, column]), *others[i + 1 :]])
    for one, other in combinations(columns, 2):
        objects = list(parent.objects)
        objects[one], objects[other] = objects[other], objects[one]
        yield Chromosome(tuple(objects), parent.groups)
    for one_part, other_part in combinations(parts, 2):
        rest = [part for part in parts if part not in (one_part, other_part)]
        yield encoded([*rest, sorted([*one_part, *other_part])])


MUTATIONS: dict[str, Callable[[Chromosome, Generator], Chromosome]] = {
    "group_create": group_create,
    "group_eliminate": group_eliminate,
    "group_split": group_split,
    "element_swap": element_swap,
    "element_move": element_move,
}
