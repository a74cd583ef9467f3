"""What looks like an identifier: by the name of its column, or by the form of its values."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Names that end in one of these; a space stands between words, however the column joins them.
IDENTIFIERS = frozenset({
    "account id", "account number", "address", "adresse", "apellido", "bank account", "bsn",
    "card number", "cellphone", "certificate number", "codice fiscale", "courriel", "cpf",
    "credit card", "device id", "dni", "driver licence", "driver license", "drivers licence",
    "drivers license", "driving licence", "e mail", "email", "fax", "first name", "firstname",
    "forename", "full name", "fullname", "given name", "health card", "iban", "id card",
    "identity card", "imei", "insurance id", "insurance number", "ip", "last name", "lastname",
    "licence number", "licence plate", "license number", "license plate", "maiden name",
    "medical record", "middle name", "mobile", "mrn", "nachname", "national id",
    "national insurance", "national number", "nhs number", "nif", "nino", "nombre",
    "number plate", "passport", "personnummer", "pesel", "phone", "plate number",
    "policy number", "prenom", "record number", "social insurance", "social security", "ssn",
    "street", "surname", "tax id", "tax number", "telefon", "telefono", "telephone",
    "user name", "username", "vin", "vorname",
})  # fmt: skip
# Names that are one of these, and no more.
WHOLE = frozenset({"guid", "handy", "id", "identifier", "mail", "name", "names", "uid", "uuid"})
PEOPLE = frozenset({
    "applicant", "beneficiary", "borrower", "citizen", "client", "contact", "customer", "donor",
    "driver", "employee", "family", "guest", "holder", "household", "insured", "member",
    "participant", "patient", "person", "player", "resident", "respondent", "staff", "student",
    "subject", "subscriber", "taxpayer", "tenant", "user", "visitor", "voter", "worker",
})  # fmt: skip
LABELS = frozenset({
    "guid", "id", "identifier", "key", "name", "no", "nr", "number", "ref", "reference", "uid",
    "uuid",
})  # fmt: skip
# What may follow an identifier and leaves it one.
FORMS = frozenset({
    "copy", "digits", "full", "hash", "hashed", "id", "line", "md", "no", "nr", "num", "number",
    "orig", "original", "raw", "sha", "str", "string", "text", "txt", "value",
})  # fmt: skip
# What such names begin with counts or asks, and names nobody.
COUNTS = frozenset({"any", "count", "has", "is", "n", "num", "was", "with"})
# The share of the different values of a column that must have the form of an identifier.
FORMED = 0.1


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an identifier.

    Parameters
    ----------
    called
        What values of this form are.
    pattern
        A regular expression of the whole value.
    check
        Its checksum, where it has one.
    least
        The share of the different values that must have the form.
    """

    called: str
    pattern: str
    check: Callable[[str], bool] | None = None
    least: float = FORMED


def luhn(text: str) -> bool:
    """Check the last digit of a card number."""
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = (sum(divmod(2 * d, 10)) for d in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def mod97(text: str) -> bool:
    """Check the two digits of an IBAN."""
    plain = text.replace(" ", "").upper()
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


_OCTET, _BYTE = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])", "[0-9A-Fa-f]{2}"
FORMS_OF_VALUES = (
    Form("e-mail addresses", r"[^\s@,;]+@[^\s@,;]+\.[A-Za-z]{2,}"),
    Form(
        "phone numbers",
        r"\+[1-9]([ ().-]{0,2}[0-9]){7,14}|(1[ .-])?\(?[2-9][0-9]{2}\)?[ .-] ?[0-9]{3}[ .-][0-9]{4}"
        r"|0[0-9]([ .-][0-9]{2}){4}|0[0-9]{1,4}[ /-][0-9]{5,8}",
    ),
    Form(
        "national numbers",
        r"[0-9]{3}-[0-9]{2}-[0-9]{4}"  # United States
        r"|[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]"  # Britain
        r"|[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]"  # Italy
        r"|[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}"  # Brazil
        r"|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}"  # Switzerland
        r"|([0-9]{2})?[0-9]{2}[01][0-9][0-3][0-9][-+][0-9]{4}",  # Sweden
    ),
    Form("IBANs", r"[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?", mod97),
    # One in ten of any numbers passes this checksum.
    Form("card numbers", r"[2-6][0-9]{3}([ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}", luhn, least=0.5),
    Form("UUIDs", r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"),
    Form("network addresses", rf"({_OCTET}\.){{3}}{_OCTET}|({_BYTE}[:-]){{5}}{_BYTE}"),
)  # fmt: skip


def is_named_like_one(column: str) -> bool:
    """Say whether the name of a column is that of an identifier."""
    words = words_of(column)
    if not words or words[0] in COUNTS:
        return False
    while True:
        name = " ".join(words)
        ends = {" ".join(words[i:]) for i in range(len(words))}
        if name in WHOLE or ends & IDENTIFIERS or {e.removesuffix("s") for e in ends} & IDENTIFIERS:
            return True
        if len(words) > 1 and words[-2] in PEOPLE and words[-1] in LABELS:
            return True
        if len(words) == 1 or not (words[-1] in FORMS or words[-1].isdigit()):
            return False
        words = words[:-1]


def words_of(column: str) -> list[str]:
    """Split a name in snake, kebab or camel case into its words, without accents."""
    plain = unicodedata.normalize("NFKD", column)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    parted = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", plain)
    parted = re.sub(r"([A-Za-z])([0-9]+)$", r"\1 \2", parted)
    return re.findall(r"[^\W_]+", parted.lower())


def has_forms(kind: pa.DataType) -> bool:
    """Say whether values of a type can have the form of an identifier."""
    import pyarrow.types as t

    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_integer(kind))


def forms_of(values: pa.Array) -> list[tuple[str, float]]:
    """Return what the different values of a column look like, and the share of them that do."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (has_forms(values.type) and len(values)):
        return []
    values, found = pc.utf8_trim_whitespace(values.cast(pa.large_string())), []
    for form in FORMS_OF_VALUES:
        alike = pc.match_substring_regex(values, f"^({form.pattern})$")
        share = pc.sum(alike).as_py() / len(values)
        if share >= form.least and form.check is not None:
            share = sum(map(form.check, values.filter(alike).to_pylist())) / len(values)
        if share >= form.least:
            found.append((form.called, share))
    return found
