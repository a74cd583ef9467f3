"""The browser that other tests look at pages with sees what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import Browser, find_axe

BAD = """<!doctype html><html lang="en"><head><title>Bad</title>
<style>@media (prefers-color-scheme: dark) { body { background: #000; color: #111 } }</style></head>
<body><main><h1>Bad</h1><div style="width: 1000px">wide</div></main>
<script>console.error("oh"); fetch("http://198.51.100.1/x").catch(() => 0); null.x;</script>"""


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad page.html"
    path.write_text(BAD)
    return path


def test_it_sees_requests_and_errors(browser: Browser, bad: Path) -> None:
    with browser.page() as page:
        page.offline()
        page.open(bad)
        page.wait_for("document.title == 'Bad'")
        assert page.requests == [bad.as_uri(), "http://198.51.100.1/x"]
        assert "oh" in page.errors
        assert any("TypeError" in error for error in page.errors)
        assert any("ERR_INTERNET_DISCONNECTED" in error for error in page.errors)


def test_it_sees_what_is_too_wide_and_too_faint(browser: Browser, bad: Path) -> None:
    axe = find_axe()
    with browser.page(1280, "light") as page:
        page.open(bad)
        assert not page.scrolls_sideways()
        assert page.faults_of_access(axe) == []
        page.viewport(390)
        page.scheme("dark")
        assert page.scrolls_sideways()
        assert [fault for fault in page.faults_of_access(axe) if "color-contrast" in fault]


def test_without_scripts_none_run(browser: Browser, bad: Path, tmp_path: Path) -> None:
    with browser.page() as page:
        page.scripts(False)
        page.open(bad)
        assert page.errors == []
        page.screenshot(tmp_path / "page.png")
        page.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
