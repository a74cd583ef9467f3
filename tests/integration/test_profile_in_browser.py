"""The page of `microagg profile` in a real browser."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from microagg_ops.proposal import propose
from microagg_ops.proposal.page import as_page
from tests.browser import Browser

LONG = "a_column_with_a_name_that_is_far_too_long_for_any_screen_but_files_allow_it"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_loads_nothing(
    browser: Browser, tmp_path: Path, patients: pa.Table, scheme: str
) -> None:
    named = patients.append_column(LONG, patients["age"])
    pa_csv.write_csv(named.append_column("<b>bold</b>", patients["bmi"]), tmp_path / "people.csv")
    path = tmp_path / "page.html"
    path.write_text(as_page(propose(str(tmp_path / "people.csv"))))
    with browser.page(1280, scheme) as page:
        page.offline()
        page.open(path)
        for width in (1280, 390):
            page.viewport(width)
            assert not page.scrolls_sideways(), width
        assert (
            page.evaluate("document.querySelectorAll('tbody tr').length") == named.num_columns + 1
        )
        assert page.evaluate("document.querySelectorAll('b').length") == 0
        assert page.requests == [path.as_uri()]
        assert page.errors == []
