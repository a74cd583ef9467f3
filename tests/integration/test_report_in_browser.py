"""Both reports in a real browser, with the network off."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from microagg_ops import run_release
from microagg_ops.cli.demo_data import clinic_patients
from microagg_ops.errors import DisclosureError
from tests.browser import Browser, find_axe

EXAMPLE = Path(__file__).parents[2] / "dags" / "clinic_patients.yaml"
# What makes pages wide: long names without a space, quotes, other scripts, many groups.
LONG = "a_column_with_a_name_that_is_far_too_long_for_any_screen_but_databases_allow_it"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports of a run that passed, and of one that did not."""
    folder = tmp_path_factory.mktemp("browser")
    with duckdb.connect(str(folder / "warehouse.duckdb")) as con:
        con.register("seed", clinic_patients(1500, seed=5))
        con.execute("create schema clinic")
        con.execute("create schema pub")
        con.execute(f'create table clinic.patients as select *, bmi + age as "{LONG}" from seed')
    text = EXAMPLE.read_text().replace(
        "bmi: {type: number}", f"bmi: {{type: number}}\n    {LONG}: {{type: number}}"
    )
    text = text.replace('  where: "admitted < :end"\n', "")
    text = text.replace("{method: mdav, k: 5}", "{method: rcs, k: 8, seed: 1, budget: 20s}")
    found = {}
    for name, limit in (("passed", "0.9"), ("failed", "0.001")):
        path = folder / f"{name}.yaml"
        path.write_text(
            text.replace("max_information_loss: 0.45", f"max_information_loss: {limit}")
        )
        try:
            run_release(
                path,
                connections={"warehouse": f"duckdb:///{folder / 'warehouse.duckdb'}"},
                reports=folder / "reports",
                run_id=name,
            )
        except DisclosureError:
            assert name == "failed"
        for page in (folder / "reports" / "clinic_patients" / name).glob("*.html"):
            found[f"{name} {page.stem}"] = page
    return found


PAGES = ("passed report", "passed external", "failed report")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well(browser: Browser, pages: dict[str, Path], name: str, scheme: str) -> None:
    axe = find_axe()
    with browser.page(1280, scheme) as page:
        page.offline()
        page.open(pages[name])
        for width in (1280, 390):
            page.viewport(width)
            assert not page.scrolls_sideways(), width
            assert page.faults_of_access(axe) == []
        assert page.requests == [pages[name].as_uri()]
        assert page.errors == []


@pytest.mark.parametrize("name", PAGES)
def test_no_script_is_needed(browser: Browser, pages: dict[str, Path], name: str) -> None:
    with browser.page(1280) as page:
        page.open(pages[name])
        whole = page.evaluate("document.body.innerText.length")
        pictures = page.evaluate("document.querySelectorAll('svg').length")
    with browser.page(1280) as page:
        page.scripts(False)
        page.open(pages[name])
        root = page.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
        count = page.call("DOM.querySelectorAll", nodeId=root, selector="svg")["nodeIds"]
        # Outside there are correlations alone.
        assert len(count) == pictures >= (2 if "external" in name else 6)
        assert whole > (1500 if "external" in name else 3000)


def test_tables_are_sorted_by_a_click(browser: Browser, pages: dict[str, Path]) -> None:
    column = (
        "[...document.querySelectorAll('#utility ~ .scroll')][0].querySelectorAll('tbody tr')"
        ".values().toArray().map(row => Number(row.cells[1].dataset.v))"
    )
    button = "document.querySelector('#utility ~ .scroll thead th:nth-child(2) button')"
    with browser.page(1280) as page:
        page.open(pages["passed external"])
        page.evaluate(f"{button}.click()")
        assert page.evaluate(column) == sorted(page.evaluate(column))
        page.evaluate(f"{button}.click()")
        found = page.evaluate(column)
        assert found == sorted(found, reverse=True) != sorted(found)
        assert page.evaluate(f"{button}.parentElement.ariaSort") == "descending"
        assert page.errors == []


def test_the_policy_of_the_page_lets_nothing_in(browser: Browser, pages: dict[str, Path]) -> None:
    with browser.page(1280) as page:
        page.open(pages["passed report"])
        page.evaluate(
            "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x'}))"
        )
        page.evaluate("new Promise(done => setTimeout(done, 300))")
        assert any("Content Security Policy" in error for error in page.errors)


def test_it_prints(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    with browser.page(1280, "dark") as page:
        page.open(pages["passed report"])
        page.pdf(tmp_path / "report.pdf")
        content = (tmp_path / "report.pdf").read_bytes()
        assert content.startswith(b"%PDF")
        assert 5 <= content.count(b"/Type /Page\n") + content.count(b"/Type /Page/") <= 20
        # On paper the dark scheme is light.
        page.call("Emulation.setEmulatedMedia", media="print", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])  # fmt: skip
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )


def test_the_failed_page_says_what_to_change(browser: Browser, pages: dict[str, Path]) -> None:
    assert "failed external" not in pages
    with browser.page(1280) as page:
        page.open(pages["failed report"])
        text = page.evaluate("document.querySelector('main').innerText")
    told = ("A check failed", "Nothing was published", "What to change", "aggregate.method be best")
    assert [words for words in (*told, "validate.max_information_loss") if words not in text] == []


@pytest.mark.parametrize("name", ["passed report", "failed report"])
def test_verdicts_fit_on_a_phone(browser: Browser, pages: dict[str, Path], name: str) -> None:
    table = "document.querySelector('table.stacked')"
    with browser.page(390) as page:
        page.open(pages[name])
        fits = f"{table}.parentElement.scrollWidth <= {table}.parentElement.clientWidth"
        assert page.evaluate(fits)
        # Each figure says what it is and has its unit.
        label = f"getComputedStyle({table}.querySelector('td.n'), '::before').content"
        assert page.evaluate(label).replace('"', "") == "Threshold: "
        assert "entities" in page.evaluate(f"{table}.innerText")
        # The first screens say what came of every check.
        assert page.evaluate("document.querySelectorAll('.verdicts li').length") == page.evaluate(
            f"{table}.tBodies[0].rows.length"
        )


def test_the_clauses_fit_and_stay_inside(browser: Browser, pages: dict[str, Path]) -> None:
    wide = (
        "[...document.querySelectorAll('table.clauses')]"
        ".map(t => [t.offsetWidth <= t.parentElement.clientWidth,"
        " [...t.querySelectorAll('td, th, dd')].every(c => c.scrollWidth <= c.clientWidth)])"
    )
    with browser.page(1280) as page:
        page.open(pages["passed report"])
        assert page.evaluate(wide) == [[True, True]] * 5
        assert "Version 1 of this map" in page.evaluate("document.body.innerText")
        page.open(pages["passed external"])
        assert page.evaluate(wide) == []
