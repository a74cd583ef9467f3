"""What looks like an identifier, and what only resembles one."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from microagg_ops.columns.lookalikes import forms_of, is_named_like_one, luhn, mod97, words_of


@pytest.mark.parametrize(
    "name",
    [
        "ssn", "SSN", "patient_ssn", "ssn2", "social_security", "socialSecurityNumber",
        "passport", "passport-no", "iban", "IBAN", "email", "e_mail", "E-Mail", "emails",
        "email_address", "contactEmail", "email_hash", "email_sha256", "phone", "homePhone",
        "phone_number", "PhoneNumber2", "mobile", "full_name", "FullName", "first_name",
        "firstname", "last name", "lastName", "surname", "maiden_name", "patient_id", "PatientID",
        "person_id", "personId", "customer_id", "customer-number", "client_no", "national_id",
        "tax_id", "license_plate", "licence_plate", "address", "home_address", "addressLine1",
        "ip_address", "client_ip", "street", "name", "id", "ID", "uuid", "mrn", "prénom",
        "driver_license", "credit_card", "credit_card_number", "insurance_number", "userName",
        "subject_key", "household_id", "employee_name", "raw.ssn", "ssn_copy", "patient_id_text",
    ],
)  # fmt: skip
def test_names_of_identifiers(name: str) -> None:
    assert is_named_like_one(name)


@pytest.mark.parametrize(
    "name",
    [
        "emailed", "valid", "pid", "said", "paid", "rapid", "idea", "income", "diagnosis", "region",
        "email_opt_in", "has_email", "hasPhone", "is_mobile", "phone_type", "phones_count",
        "n_phones", "num_emails", "address_changes", "street_type", "passport_country", "named",
        "drug_name", "region_name", "product_id", "diagnosis_id", "automobile", "telephony",
        "patients", "patient", "person", "customer_segment", "member_since", "user_rating", "mist",
        "vint", "ship", "tip", "trip", "classname", "nominal", "assn", "last_login", "idle", "",
        "height_cm", "bmi", "smoker", "education", "area", "postcode", "admitted", "weight", "x1",
        "surnamed", "faxed", "w", "cost", "dose", "checked", "unique", "__", "número_de_visitas",
    ],
)  # fmt: skip
def test_names_that_only_resemble_them(name: str) -> None:
    assert not is_named_like_one(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("patientSSNNumber", ["patient", "ssn", "number"]),
        ("raw-e_mail", ["raw", "e", "mail"]),
        ("Prénom 2", ["prenom", "2"]),
        ("addressLine1", ["address", "line", "1"]),
    ],
)
def test_names_are_split_into_words(name: str, words: list[str]) -> None:
    assert words_of(name) == words


RANDOM = Random(3)


def digits(many: int) -> str:
    return "".join(RANDOM.choice("0123456789") for _ in range(many))


def card() -> str:
    start = "4" + digits(14)
    return next(start + last for last in "0123456789" if luhn(start + last))


def iban() -> str:
    account = digits(18)
    return next(f"DE{c:02}{account}" for c in range(2, 99) if mod97(f"DE{c:02}{account}"))


# A # stands for any digit.
PATTERNS = {
    "e-mail addresses": ["ann.####+x@mail.example.org", "b##@example.co.uk"],
    "phone numbers": [
        "+49 30 #######", "+1 (555) ###-####", "+33612######", "(555) ###-####", "555-###-####",
        "555.###.####", "1-555-###-####", "06 12 34 56 ##", "030/#######",
    ],
    "national numbers": [
        "###-##-####", "AB######C", "AB 12 34 ## D", "RSSMRA85T10A###S", "###.###.###-##",
        "756.####.####.##", "811228-####", "19811228-####",
    ],
    "UUIDs": ["########-aB##-4###-8###-############", "a###############################"],
    "network addresses": ["10.##.7.##", "192.168.0.##", "0a:1b:2c:3d:4e:##"],
}  # fmt: skip


def written(pattern: str) -> str:
    return "".join(digits(1) if c == "#" else c for c in pattern)


def alike(called: str) -> str:
    if called in PATTERNS:
        return written(RANDOM.choice(PATTERNS[called]))
    one = iban()
    return card() if called == "card numbers" else RANDOM.choice([one, f"{one[:4]} {one[4:]}"])


@pytest.mark.parametrize("called", [*PATTERNS, "IBANs", "card numbers"])
def test_forms_of_identifiers(called: str) -> None:
    values = [alike(called) for _ in range(60)]
    assert forms_of(pa.array(values)) == [(called, 1.0)]
    # Some among other things are enough, but for cards, of which one in ten passes by chance.
    others = [f"note {i}" for i in range(300)]
    found = forms_of(pa.array(values + others))
    assert [name for name, _ in found] == ([] if called == "card numbers" else [called])


@pytest.mark.parametrize(
    "values",
    [
        [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(50)],
        [f"{i / 7:.4f}" for i in range(50)],
        [f"+{i}.50" for i in range(50)],
        [f"ICD{i:04}" for i in range(50)],
        [f"E{i:02}.{i % 10}" for i in range(50)],
        [f"{i:05}" for i in range(50)],
        [f"{i:05}-{i:04}" for i in range(50)],
        [f"{i}.{i % 7}.{i % 5}" for i in range(50)],
        [f"{i}:{i % 60:02}" for i in range(50)],
        [f"at {i}, or @{i}" for i in range(50)],
        [f"DE{i:020}" for i in range(100)],
        ["", " ", "-"],
        [4_000_000_000_000_000 + 7 * i for i in range(200)],
        [1_700_000_000_000 + 997 * i for i in range(200)],
        list(range(100_000_000, 100_000_050)),
        [0.5, 1.5, 2.5],
        [True, False],
        [],
    ],
)  # fmt: skip
def test_forms_that_only_resemble_them(values: list[object]) -> None:
    assert forms_of(pa.array(values)) == []


def test_cards_are_seen_in_integers() -> None:
    assert forms_of(pa.array([int(card()) for _ in range(50)])) == [("card numbers", 1.0)]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (luhn, "4111 1111 1111 1111", "4111 1111 1111 1112"),
        (luhn, "378282246310005", "378282246310050"),
        (mod97, "GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 33"),
        (mod97, "FR1420041010050500013M02606", "FR1420041010050500013M02660"),
    ],
)
def test_checksums(check: object, good: str, bad: str) -> None:
    assert callable(check)
    assert check(good) and not check(bad)
