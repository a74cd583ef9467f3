"""Documents of another shape, sealed or not, end in errors that say what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg_ops.errors import MicroaggError, ReleaseError
from microagg_ops.report.manifest import read_manifest
from microagg_ops.staging.store import MANIFEST, Staging, sealed

DEEP = b"[" * 100_000
ODD = [b"null", b"[]", b"{}", b"1", b'"x"', b'{"files": 1, "summary": {}}', DEEP, b"{", b"\xff"]
ODD += [b'{"files": {}, "summary": []}', b'{"files": {"a": 1}, "summary": {}}', b'{"summary": {}}']


def staged(folder: Path, body: bytes) -> Staging:
    """Staging with a manifest that is sealed by the right key, but of another shape."""
    staging = Staging(folder)
    staging.put("extract", {"a": b"1"}, {"rows": 1})
    seal = staging._seal("extract", b"{" + body[1:])
    (folder / "extract" / MANIFEST).write_bytes(sealed(seal, body))
    return staging


@pytest.mark.parametrize("body", ODD, ids=lambda body: body[:30].decode(errors="replace"))
def test_a_sealed_manifest_of_another_shape_is_refused(tmp_path: Path, body: bytes) -> None:
    staging = staged(tmp_path / "run", body)
    for read in (
        lambda: staging.get("extract", "a"),
        lambda: staging.summary("extract"),
        lambda: staging.digest("extract", "a"),
    ):
        with pytest.raises(MicroaggError) as caught:
            read()
        assert caught.value.code == "staging_changed"


@pytest.mark.parametrize("content", [*ODD, b"[" * 1_000], ids=lambda c: c[:30].decode("latin-1"))
def test_a_published_manifest_of_another_shape_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(ReleaseError) as caught:
        read_manifest(path)
    assert caught.value.code == "no_manifest"
    assert len(str(caught.value)) < 5_000


def test_a_manifest_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(b" " * (1 << 24) + b" {}")
    with pytest.raises(ReleaseError, match="larger than"):
        read_manifest(path)


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["files", "summary", "method", "k", "x"]), inside)
    ),
    max_leaves=20,
)


@given(document=JSON)
def test_no_document_ends_in_an_error_of_another_kind(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    folder = tmp_path_factory.mktemp("m")
    body = json.dumps(document).encode()
    (folder / "manifest.json").write_bytes(body)
    with pytest.raises(ReleaseError):
        read_manifest(folder / "manifest.json")
    staging = staged(folder / "run", body)
    for name in ("extract", "group"):
        try:
            staging.summary(name)
            staging.get(name, "a")
        except MicroaggError:
            pass
