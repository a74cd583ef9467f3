"""Roles that columns seem to have: by their names where these say it, else by what they hold.

In doubt a column is a quasi-identifier: what a reader wrongly thinks harmless is what leaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from microagg_ops.columns.lookalikes import PEOPLE, words_of
from microagg_ops.columns.space import MOST_CATEGORIES
from microagg_ops.columns.suspects import ALONE
from microagg_ops.proposal.facts import Facts


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDENTIFIER, ENTITY, QUASI, SENSITIVE, LEFT_OUT = (
    "identifier", "entity", "quasi", "sensitive", "left out",
)  # fmt: skip
# Last words of a key that one person has in many rows.
KEYS = _words("""
    bsn cpf dni guid id identifier key mrn no nr number pesel ref reference ssn uid uuid
""")
# Those that are keys of something whatever stands before them.
ALWAYS_KEYS = _words("guid id identifier key uid uuid")
# What outsiders know or can see, look up or guess.
KNOWN = _words("""
    admission admitted age alter birth birthdate birthday born building car children city civil
    country county date day discharge discharged district dob education employer employment
    ethnicity etnia geburtsdatum gender geschlecht height household job language location
    marital married month municipality nationality neighborhood occupation origin ort plz postal
    postcode profession province race region residence residents rooms school sector sex sexo
    size state suburb title town vehicle visit weight year zip zipcode
""")
# What tables are about, and what it would hurt to have known of oneself.
ABOUT = _words("""
    abuse alcohol balance belief blood charge charges cholesterol claim condition
    conviction cost costs credit crime dead death debt default diagnose diagnoses diagnosis
    disability disease drug drugs expenditure expense expenses finding glucose grade hba1c hiv
    icd illness income infection insulin lab loan medication mental mortality outcome party
    politics pregnant prescription procedure psychiatric readmitted religion result salary score
    sentence sexuality smoker smoking spending stroke survival survived symptom test
    therapy treatment tumor tumour violence vote wage wages
""")


@dataclass(frozen=True, slots=True)
class Role:
    """What a column seems to be, and why."""

    name: str
    why: str


def roles(found: Sequence[Facts]) -> dict[str, Role]:
    """Propose a role for each column."""
    proposed = {fact.name: role_of(fact) for fact in found}
    key = _key([fact for fact in found if proposed[fact.name].name == IDENTIFIER])
    if key is not None:
        many = key.rows / key.values
        why = f"a key that repeats: {key.values:,} of them in {key.rows:,} rows, {many:.1f} each"
        proposed[key.name] = Role(ENTITY, why)
    return proposed


def role_of(fact: Facts) -> Role:
    """Propose a role by what is known of the column itself."""
    words = set(words_of(fact.name))
    apart = f"{fact.alone:.0%} of its values are one row's alone"
    rules = (
        (not fact.kind, LEFT_OUT, "its type cannot be released; cast it in a view"),
        (fact.values == 0, LEFT_OUT, "it is NULL in every row"),
        (fact.values == 1, LEFT_OUT, "it has one value, which says nothing"),
        (bool(fact.forms), IDENTIFIER, f"its values look like {' and '.join(fact.forms)}"),
        (fact.named and fact.values > 2, IDENTIFIER, "its name is that of an identifier"),
        (
            words_of(fact.name)[-1:] and words_of(fact.name)[-1] in ALWAYS_KEYS
            and 5 * fact.values > fact.rows,
            IDENTIFIER, "its name and its many values are those of a key",
        ),
        (fact.numbers_rows, IDENTIFIER, "it numbers the rows"),
        (fact.kind == "text" and fact.alone > ALONE, IDENTIFIER, apart),
        (
            fact.kind == "text" and fact.values > MOST_CATEGORIES, LEFT_OUT,
            f"it has {fact.values:,} categories, more than {MOST_CATEGORIES}: group them in a view",
        ),
        (bool(words & ABOUT), SENSITIVE, "its name says that the table is about it"),
        (bool(words & KNOWN), QUASI, "its name says what outsiders know or see"),
    )  # fmt: skip
    told = next((Role(role, why) for holds, role, why in rules if holds), None)
    return told or Role(QUASI, "nothing shows that no outsider knows it")


def _key(identifiers: Sequence[Facts]) -> Facts | None:
    """Find the identifier that tells whom a row is about, where one has several rows."""
    keys = [
        fact
        for fact in identifiers
        if not fact.nulls and fact.values < fact.rows <= 50 * fact.values
        and words_of(fact.name)[-1:] and words_of(fact.name)[-1] in KEYS
    ]  # fmt: skip
    people = [fact for fact in keys if set(words_of(fact.name)) & PEOPLE]
    return max(people or keys, key=lambda fact: fact.values, default=None)


def moved(proposed: Mapping[str, Role], fact: Facts, reason: str) -> Role:
    """Propose another role for a column that could name people if it left as it is."""
    was = proposed[fact.name]
    if was.name == SENSITIVE and not fact.is_category:
        return Role(QUASI, f"as it is it could name people: {reason}")
    return Role(IDENTIFIER, f"it could name people: {reason}")
