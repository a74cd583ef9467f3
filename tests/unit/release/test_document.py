"""A release file is read whole, or refused with every fault at once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from microagg_ops.errors import ReleaseError
from microagg_ops.release.columns import Columns, Quasi
from microagg_ops.release.document import Fault, check_release, load_release
from microagg_ops.release.model import (
    Aggregate,
    Group,
    Publish,
    Report,
    Source,
    Standardize,
    in_seconds,
)
from microagg_ops.release.validate import Close, Diverse, Validate
from microagg_ops.sql import TableName
from tests.conftest import RELEASE

Faults = Callable[..., list[Fault]]


def edited(*changes: tuple[str, str]) -> str:
    """The release of conftest with some of its text replaced."""
    text = RELEASE
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def faults(tmp_path: Path) -> Faults:
    """The faults of the release of conftest, edited."""

    def check(*changes: tuple[str, str], more: str = "") -> list[Fault]:
        path = tmp_path / "release.yaml"
        path.write_text(edited(*changes) + more)
        return check_release(path)

    return check


def only(faults: list[Fault]) -> Fault:
    assert len(faults) == 1, [str(fault) for fault in faults]
    return faults[0]


def test_a_release_becomes_dataclasses(release_file: Path) -> None:
    release = load_release(release_file)
    assert release.release == "clinic_patients"
    assert release.source == Source("warehouse", TableName(("clinic", "patients")))
    assert release.columns == Columns(
        quasi={
            "age": Quasi("integer"),
            "height_cm": Quasi("number"),
            "bmi": Quasi("number"),
            "admitted": Quasi("date"),
        },
        identifiers=("ssn", "full_name"),
        entity="patient_id",
        sensitive=("diagnosis",),
    )
    assert release.strata == ("region",)


def test_what_is_not_said_has_a_default(release_file: Path) -> None:
    release = load_release(release_file)
    assert (release.version, release.nulls, release.k) == (1, "reject", 3)
    assert release.standardize == Standardize("zscore")
    assert release.group == Group("single", ())
    assert release.aggregate == Aggregate(k=3, method="mdav", seed=0, budget=None)
    assert release.validate == Validate()
    assert release.report == Report(("html", "json"), None)
    assert release.publish == Publish(
        "warehouse", TableName(("pub", "clinic_patients")), "replace", "interval_start"
    )


def test_the_digest_is_that_of_the_file(release_file: Path) -> None:
    digest = hashlib.sha256(release_file.read_bytes()).hexdigest()
    assert load_release(release_file).digest == digest


def test_identifiers_are_never_read_and_the_entity_never_leaves(release_file: Path) -> None:
    release = load_release(release_file)
    assert release.extracted - release.published_columns == {"patient_id"}
    assert not release.extracted & {"ssn", "full_name"}


def test_a_byte_order_mark_does_no_harm(release_file: Path) -> None:
    release_file.write_bytes(b"\xef\xbb\xbf" + release_file.read_bytes())
    assert load_release(release_file).k == 3


def test_a_table_may_be_a_list_of_parts(release_file: Path) -> None:
    release_file.write_text(edited(("clinic.patients", "[clinic, pa.tients]")))
    assert load_release(release_file).source.table.parts == ("clinic", "pa.tients")


def test_every_fault_is_listed_at_once(faults: Faults) -> None:
    found = faults(
        ("k: 3", "k: 1, sede: 4"),
        ("{type: date}", "{type: day}"),
        ("release: clinic_patients\n", ""),
        ("strata: [region]", "strata: [region, region]"),
    )
    assert {fault.pointer: fault.found for fault in found} == {
        "/aggregate/k": "1",
        "/aggregate/sede": "an unknown key",
        "/columns/quasi/admitted/type": "'day'",
        "/release": "nothing",
        "/strata": "['region', 'region']",
    }
    assert {fault.pointer: fault.allowed for fault in found} == {
        "/aggregate/k": "2 or more",
        "/aggregate/sede": "aware, budget, k, method, params, seed, threads",
        "/columns/quasi/admitted/type": "number, integer, decimal, date, timestamp, ordinal, "
        "nominal, boolean",
        "/release": "The name of the release. It names the series, the report and the staging",
        "/strata": "each entry once",
    }


def test_loading_tells_every_fault_in_one_error(release_file: Path) -> None:
    release_file.write_text(edited(("k: 3", "k: 1"), ("{type: date}", "{type: day}")))
    with pytest.raises(ReleaseError, match="clinic_patients.yaml has 2 faults") as caught:
        load_release(release_file)
    assert "/aggregate/k: found 1; allowed: 2 or more." in str(caught.value)
    assert "/columns/quasi/admitted/type: found 'day'" in str(caught.value)


def test_every_missing_key_is_a_fault(faults: Faults) -> None:
    found = faults((RELEASE, "version: 1"))
    assert {fault.pointer for fault in found} == {
        "/release",
        "/source",
        "/columns",
        "/aggregate",
        "/publish",
    }
    assert {fault.found for fault in found} == {"nothing"}


def test_a_misspelt_key_gets_the_right_one_suggested(faults: Faults) -> None:
    fault = only(faults(more="standardise: {method: zscore}"))
    assert (fault.pointer, fault.suggestion) == ("/standardise", "standardize")
    assert str(fault).endswith("Did you mean 'standardize'?")


def test_a_misspelt_value_gets_the_right_one_suggested(faults: Faults) -> None:
    fault = only(faults(more="standardize: {method: z-score}"))
    assert (fault.pointer, fault.suggestion) == ("/standardize/method", "zscore")


def test_a_pointer_escapes_slashes_and_tildes(faults: Faults) -> None:
    assert only(faults(("age:", "a/b~c:"), ("integer", "int"))).pointer == (
        "/columns/quasi/a~1b~0c/type"
    )


@pytest.mark.parametrize(
    ("k", "allowed"),
    [
        ("1", "2 or more"),
        ("-3", "2 or more"),
        ("5.0", "a whole number"),
        ('"5"', "a whole number"),
        ("true", "a whole number"),
        ("null", "a whole number"),
    ],
)
def test_k_is_a_whole_number_of_two_or_more(faults: Faults, k: str, allowed: str) -> None:
    fault = only(faults(("k: 3", f"k: {k}")))
    assert (fault.pointer, fault.allowed) == ("/aggregate/k", allowed)


@pytest.mark.parametrize("share", ["-0.1", "1.1", ".nan", ".inf"])
def test_information_loss_is_a_share(faults: Faults, share: str) -> None:
    fault = only(faults(more=f"validate: {{max_information_loss: {share}}}"))
    assert fault.pointer == "/validate/max_information_loss"


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ("[diagnosis]", "[age]", "/columns/sensitive"),
        ("[ssn, full_name]", "[ssn, bmi]", "/columns/quasi"),
        ("[region]", "[diagnosis]", "/strata"),
        ("entity: patient_id", "entity: ssn", "/columns/entity"),
    ],
)
def test_a_column_has_one_role(faults: Faults, old: str, new: str, pointer: str) -> None:
    fault = only(faults((old, new)))
    assert (fault.pointer, fault.allowed) == (pointer, "one role a column")


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ("{diagnosis: it is what the table is about}", None),
        ("{region: known to all, age: no birthday}", None),
        ("{ssn: nobody knows it}", "/columns/may_leave/ssn"),
        ("{patient_id: a number}", "/columns/may_leave/patient_id"),
        ("{income: not there}", "/columns/may_leave/income"),
        ('{diagnosis: " "}', "/columns/may_leave/diagnosis"),
        ("{diagnosis: true}", "/columns/may_leave/diagnosis"),
        ("[diagnosis]", "/columns/may_leave"),
    ],
)
def test_a_reason_is_given_in_words_for_what_leaves(
    faults: Faults, said: str, pointer: str | None
) -> None:
    found = faults(("  sensitive: [diagnosis]", f"  sensitive: [diagnosis]\n  may_leave: {said}"))
    assert [fault.pointer for fault in found] == ([] if pointer is None else [pointer])


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ("[[age, bmi], [height_cm]]", "no group with 'admitted'"),
        ("[[age, bmi], [height_cm, admitted, age]]", "'age' twice"),
        ("[[age, bmi], [height_cm, admitted, wage]]", "'wage'"),
    ],
)
def test_fixed_groups_share_out_the_quasi_identifiers(
    faults: Faults, groups: str, found: str
) -> None:
    fault = only(faults(more=f"group: {{method: fixed, groups: {groups}}}"))
    assert (fault.pointer, fault.found) == ("/group/groups", found)


@pytest.mark.parametrize(
    ("how", "pointer", "found", "allowed"),
    [
        ("{type: ordinal}", "/order", "nothing", "with type ordinal"),
        ("{type: ordinal, order: [no, maybe]}", "/order/0", "False", "text, a whole number"),
        ("{type: ordinal, order: [a, a]}", "/order", "['a', 'a']", "each entry once"),
        ("{type: date, order: [a]}", "/order", "a list, with type date", "with type ordinal"),
        ("{type: nominal, representative: mean}", "/representative", "mean, of a", "mode"),
        ("{type: ordinal, order: [a], representative: mode}", "/representative", "mode", "median"),
        ("{type: date, representative: mode}", "/representative", "mode", "mean, median"),
        ("{type: date, weight: 0}", "/weight", "0", "more than 0"),
    ],
)
def test_what_is_said_of_a_column_makes_sense(
    faults: Faults, how: str, pointer: str, found: str, allowed: str
) -> None:
    fault = only(faults(("admitted: {type: date}", f"admitted: {how}")))
    assert fault.pointer == f"/columns/quasi/admitted{pointer}"
    assert fault.found.startswith(found)
    assert fault.allowed.startswith(allowed)


@pytest.mark.parametrize("how", ["{type: date, representative: median}", "{type: nominal}"])
def test_what_may_be_said_of_a_column(faults: Faults, how: str) -> None:
    assert not faults(("admitted: {type: date}", f"admitted: {how}"))


@pytest.mark.parametrize("name", ["admitted", "diagnosis", "nobody"])
def test_dominance_is_looked_for_in_means_of_magnitudes(faults: Faults, name: str) -> None:
    fault = only(faults(more=f"validate: {{dominance: {{share: 0.8, columns: [bmi, {name}]}}}}"))
    assert (fault.pointer, fault.found) == ("/validate/dominance/columns", repr(name))


def test_a_weight_is_read_and_leaves_only_if_it_is_sensitive_too(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    weight = ("  sensitive: [diagnosis]", "  sensitive: [diagnosis]\n  weight: w")
    path.write_text(edited(weight))
    release = load_release(path)
    assert "w" in release.extracted - release.published_columns
    path.write_text(edited(weight, ("[diagnosis]", "[diagnosis, w]")))
    assert "w" in load_release(path).published_columns


def test_a_weight_has_no_other_role(faults: Faults) -> None:
    weight = ("  sensitive: [diagnosis]", "  sensitive: [diagnosis]\n  weight: age")
    assert only(faults(weight)).pointer == "/columns/weight"


def test_fixed_groups_that_are_complete_are_no_fault(faults: Faults) -> None:
    assert not faults(more="group: {method: fixed, groups: [[age, bmi], [height_cm, admitted]]}")


@pytest.mark.parametrize("method", ["", "method: single, ", "method: correlated, "])
def test_only_fixed_groups_have_a_list(faults: Faults, method: str) -> None:
    fault = only(faults(more=f"group: {{{method}groups: [[age]]}}"))
    assert (fault.pointer, fault.allowed) == ("/group/groups", "method fixed, or no list")


@pytest.mark.parametrize("method", ["", "method: fixed, "])
def test_a_method_of_grouping_takes_its_own_keys_only(faults: Faults, method: str) -> None:
    fault = only(faults(more=f"group: {{{method}size: 2}}"))
    assert (fault.pointer, fault.found) == ("/group", "'size'")
    assert not faults(more="group: {method: correlated, size: 2}")
    assert only(faults(more="group: {method: gomm, size: 2}")).pointer == "/group"
    assert only(faults(more="group: {method: dgomm, budget: 5}")).pointer == "/group/budget"
    assert not faults(more="group: {method: dgomm, budget: 5s, population: 50, seed: 1}")


def test_no_more_is_checked_than_was_aggregated(faults: Faults) -> None:
    fault = only(faults(more="validate: {k: 4}"))
    assert (fault.pointer, fault.found) == ("/validate/k", "4")
    assert not faults(more="validate: {k: 2}")


def test_the_target_is_not_the_source(faults: Faults) -> None:
    fault = only(faults(("pub.clinic_patients", "[clinic, patients]")))
    assert (fault.pointer, fault.found) == ("/publish/table", "the table of source")


def test_several_entities_need_a_share_of_their_own(faults: Faults) -> None:
    fault = only(faults(more="validate: {dominance: {n: 2}}"))
    assert fault.pointer == "/validate/dominance/share"
    assert not faults(more="validate: {dominance: {n: 2, share: 0.8}}")


@pytest.mark.parametrize("name", ["a.b.c.d", "a..b", ".a", "a.", '""', "[a, b, c, d]", "[]"])
def test_a_table_name_has_up_to_three_parts(faults: Faults, name: str) -> None:
    assert only(faults(("pub.clinic_patients", name))).pointer == "/publish/table"


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("age > :age and age < :end", "the parameter :age"),
        ("age > 3; drop table x", "a semicolon"),
        ("age > 3 -- and more", "a comment"),
        ("age > 3 /* and more", "a comment"),
        ("name = 'O", "a quote that is not closed"),
        ("name = $$x$$", "dollar-quoted text"),
        ("age in (select age from x)", "what is not plain in a condition (Subquery)"),
        ("pg_has_role(ssn, 'usage')", "the function pg_has_role()"),
        ("pg_has_role(ssn::name, 'usage')", "a cast to a type that is not plain"),
        ("age + 1", "an expression that is neither true nor false"),
        ("age > 3) or (age > 4", "a parenthesis that is not opened"),
    ],
)
def test_where_is_one_condition_on_the_interval(faults: Faults, where: str, found: str) -> None:
    fault = only(faults(("clinic.patients}", f'clinic.patients, where: "{where}"}}')))
    assert (fault.pointer, fault.found) == ("/source/where", found)


def test_escape_string_does_not_pass(faults: Faults) -> None:
    escape = "age < 0 or E'\\'' is null) union all select ssn from x where (E'\\'' is null"
    fault = only(faults(("clinic.patients}", f"clinic.patients, where: {json.dumps(escape)}}}")))
    assert fault.found == "a backslash, which databases read differently"


def test_named_functions_are_trusted(faults: Faults) -> None:
    where = 'where: "is_adult(age) and my.own(bmi)", trusted'
    source = "clinic.patients}"
    assert not faults((source, f"clinic.patients, {where}: [is_adult, my.own]}}"))
    fault = only(faults((source, f"clinic.patients, {where}: [is_adult]}}")))
    assert fault.found == "the function my.own()"
    fault = only(faults((source, f"clinic.patients, {where}: ['a; drop']}}")))
    assert fault.pointer == "/source/trusted/0"


def test_intervals_are_appended_only_if_they_are_read(faults: Faults) -> None:
    append = ("pub.clinic_patients}", "pub.clinic_patients, mode: append_interval}")
    by_interval = ("clinic.patients}", 'clinic.patients, where: "admitted >= :start"}')
    assert only(faults(append)).pointer == "/publish/mode"
    assert not faults(append, by_interval)


def test_the_interval_column_is_a_new_one(faults: Faults) -> None:
    how = "pub.clinic_patients, mode: append_interval, interval_column: age}"
    by_interval = ("clinic.patients}", 'clinic.patients, where: "admitted >= :start"}')
    fault = only(faults(("pub.clinic_patients}", how), by_interval))
    assert fault.pointer == "/publish/interval_column"


@pytest.mark.parametrize("key", ["release", "conn_id", "budget"])
def test_a_name_does_not_end_in_a_newline(faults: Faults, key: str) -> None:
    changes = {
        "release": ("release: clinic_patients", r'release: "clinic_patients\n"'),
        "conn_id": ("{conn_id: warehouse, table: clinic", r'{conn_id: "a\n", table: clinic'),
        "budget": ("k: 3", r'k: 3, budget: "60s\n"'),
    }
    assert only(faults(changes[key])).pointer.endswith(f"/{key}")


LAUGHS = "\n".join(
    ["a0: &a0 [lol, lol]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
)

HOSTILE = {
    "not_yaml": (b"release: [", "not YAML"),
    "empty": (b"", "an empty file"),
    "only_comments": (b"# release: x\n\n# nothing\n", "an empty file"),
    "list": (b"- release: x\n", "allowed: a mapping"),
    "text": (b"release", "allowed: a mapping"),
    "two_documents": (b"a: 1\n---\nb: 2\n", "not YAML"),
    "nesting_of_10_mb": (b"[" * 10_000_000, "larger than 64 KiB"),
    "nesting_of_60_kb": (b"[" * 60_000, "nesting deeper"),
    "nested_dashes": (b"- " * 30_000, "nesting deeper"),
    "nested_mappings": (b"{a: " * 15_000, "nesting deeper"),
    "alias_bomb": (LAUGHS.encode(), "an alias"),
    "merge_key": (b"<<: {a: 1}\n", "not YAML"),
    "repeated_key": (b"release: a\nrelease: b\n", "'release' for the second time on line 2"),
    "repeated_inner_key": (b"a: {b: 1, b: 2}\n", "'b' for the second time"),
    "key_that_is_true": (b"on: 1\n", "a key that is not text on line 1"),
    "key_that_is_a_list": (b"? [a]\n: 1\n", "a key that is not text on line 1"),
    "not_utf8": (b"release: \xff\xfe\n", "not UTF-8"),
    "utf16": ("release: x".encode("utf-16"), "not UTF-8"),
    "control_character": (b"release: \x01\n", "not YAML"),
    "day_that_is_none": (b"release: 2001-99-99\n", "not YAML"),
    "nul": (rb'release: "a\0b"', "a NUL or half a character on line 1"),
    "half_a_character": (rb'"\ud800": 1', "a NUL or half a character on line 1"),
    "python_object": (b"!!python/object/apply:os.getcwd []\n", "a tag"),
    "empty_int_tag": (b'release: !!int ""\n', "a tag"),
    "bool_tag": (b"release: !!bool maybe\n", "a tag"),
    "timestamp_tag": (b"release: !!timestamp never\n", "a tag"),
    "long_hex": (b"release: 0x" + b"f" * 60_000, "a number of more than"),
    "long_decimal": (b"release: " + b"9" * 60_000, "a number of more than"),
    "long_base_60": (b"release: 1" + b":00" * 20_000, "a number of more than"),
    "long_base_60_float": (b"release: 1" + b":00" * 20_000 + b".5", "a number of more than"),
    "long_hex_k": (edited(("k: 3", "k: 0x" + "f" * 9_000)).encode(), "a number of more than"),
}


@pytest.mark.parametrize(("content", "says"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_file_that_is_no_release_is_refused_quickly(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "release.yaml"
    path.write_bytes(content)
    began = time.process_time()  # what this process works, however busy the machine is
    with pytest.raises(ReleaseError, match=says):
        load_release(path)
    assert time.process_time() - began < 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read") as caught:
        load_release(tmp_path / "none.yaml")
    assert caught.value.code == "no_release"


def test_a_folder_is_no_release(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_release(tmp_path)


def test_a_path_that_cannot_be_one() -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_release("release\0.yaml")


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("60s", 60), ("1.5m", 90), ("2h", 7200)]
)
def test_durations(text: str, seconds: float) -> None:
    assert in_seconds(text) == pytest.approx(seconds)
    assert Aggregate(k=2, budget=text).seconds == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "60", "s", "abcs", "1d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ReleaseError, match="is not a duration"):
        in_seconds(text)


@pytest.mark.parametrize(
    ("limits", "pointer", "found"),
    [
        ("l: {bmi: 2}", "/validate/l/bmi", "'bmi'"),
        ("l: {diagnosis: 1}", "/validate/l/diagnosis", "1"),
        ("l: {diagnosis: 2.5}", "/validate/l/diagnosis", "2.5"),
        ("l: {diagnosis: {kind: entropy}}", "/validate/l/diagnosis/l", "nothing"),
        ("l: {diagnosis: {kind: recursive, l: 2}}", "/validate/l/diagnosis/c", "nothing"),
        ("l: {diagnosis: {l: 2, c: 3}}", "/validate/l/diagnosis/c", "3, with kind distinct"),
        ("l: {diagnosis: {l: 2.5}}", "/validate/l/diagnosis/l", "2.5, with kind distinct"),
        ("t: {bmi: 0.2}", "/validate/t/bmi", "'bmi'"),
        ("t: {diagnosis: 1.5}", "/validate/t/diagnosis", "1.5"),
        ("max_linkage: 5", "/validate/max_linkage", "5"),
        ("totals: -1", "/validate/totals", "-1"),
        ("k_of: [[bmi], [diagnosis]]", "/validate/k_of/1", "'diagnosis'"),
        ("k_of: [bmi]", "/validate/k_of/0", "'bmi'"),
        ("k_of: [[]]", "/validate/k_of/0", "[]"),
    ],
)
def test_bad_limits_are_faults(faults: Faults, limits: str, pointer: str, found: str) -> None:
    fault = only(faults(more=f"validate: {{{limits}}}"))
    assert (fault.pointer, fault.found) == (pointer, found)


def test_limits_are_read_in_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(f"{RELEASE}validate: {{l: {{diagnosis: 3}}, t: {{diagnosis: {{t: 0.2}}}}}}")
    limits = load_release(path).validate
    assert (limits.l, limits.t) == ({"diagnosis": Diverse(3)}, {"diagnosis": Close(0.2)})


def test_about_and_the_key_of_the_manifest_are_read(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    text = RELEASE.replace("age: {type: integer}", "age: {type: integer, reason: is seen}")
    path.write_text(f"{text}\nabout: {{owner: We, scenarios: [A, B]}}\nreport: {{sign_conn_id: s}}")
    release = load_release(path)
    assert (release.about.owner, release.about.scenarios) == ("We", ("A", "B"))
    assert release.columns.quasi["age"].reason == "is seen"
    assert release.report.sign_conn_id == "s"


def test_data_docs_are_a_local_folder(faults: Faults) -> None:
    fault = only(faults(more="report: {data_docs: 's3://bucket/docs'}"))
    assert (fault.pointer, fault.found) == ("/report/data_docs", "'s3://bucket/docs'")
    assert not faults(more="report: {data_docs: docs}")
