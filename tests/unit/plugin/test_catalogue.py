"""Release files, found among others."""

from __future__ import annotations

from pathlib import Path

from microagg_ops.plugin.catalogue import find_entries
from tests.conftest import RELEASE


def test_release_files_are_found_among_others(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "good.yml").write_text(RELEASE)
    (tmp_path / "faulty.yaml").write_text("release: faulty\nsource: 5\n")
    (tmp_path / "other.yaml").write_text("services: {}\n")
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "not.yaml").write_text("{")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "dag.py").write_text("release: 1\nsource: 2")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "hidden.yaml").write_text(RELEASE.replace("clinic_patients", "hidden", 1))
    found = find_entries(tmp_path)
    assert set(found) == {"clinic_patients", "faulty"}
    good, faulty = found["clinic_patients"], found["faulty"]
    assert (good.file, good.faults) == ("deep/er/good.yml", 0)
    assert good.release is not None and good.release.aggregate.k == 3
    assert faulty.release is None and faulty.faults > 1


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(RELEASE)
    assert set(find_entries(tmp_path)) == {"clinic_patients"}
    path.write_text(RELEASE.replace("clinic_patients", "renamed", 1))
    assert set(find_entries(tmp_path)) == {"renamed"}


def test_of_two_files_of_one_name_the_first_counts(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yaml"):
        (tmp_path / name).write_text(RELEASE)
    assert find_entries(tmp_path)["clinic_patients"].file == "a.yaml"


def test_no_folder(tmp_path: Path) -> None:
    assert find_entries(tmp_path / "none") == {}
