"""The page in a browser: it renders, opens, finds, follows, and obeys nobody else.

These need a Chromium on the PATH; where there is none they fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Page, browser

from archive.__main__ import main

pytestmark = pytest.mark.long
SETTLE = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))"
CARDS = "[...document.querySelectorAll('details.game')]"
SHOWN = f"{CARDS}.filter((card) => !card.hidden).length"
DESKTOP, PHONE = (1280, 900), (420, 844)
SET = "(() => {{ const box = document.getElementById({!r}); box.value = {!r};"
SET += " box.dispatchEvent(new Event({!r})); }})()"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile") / "chromium") as page:
        yield page


@pytest.fixture(scope="module")
def report(grown_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["report", str(grown_run), "-o", str(page)]) == 0
    return page


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_it_renders_without_errors(
    tab: Page, report: Path, size: tuple[int, int], scheme: str
) -> None:
    tab.open(report, size, scheme)
    assert tab.value("document.querySelector('h1').textContent") == "What the search found"
    assert tab.value("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    paper = tab.value("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in paper[4:-1].split(",")) < 3 * 128
    assert dark == (scheme == "dark")
    for text in ("q", ".texts li", ".rules li"):
        style = f"getComputedStyle(document.querySelector('{text}'))"
        assert tab.value(f"{style}.unicodeBidi") == "plaintext", "Hebrew begins on the right"
    assert tab.problems == []


def test_a_card_opens_a_filter_filters_and_a_sort_sorts(tab: Page, report: Path) -> None:
    tab.open(report, DESKTOP)
    tab.value("document.querySelector('#game-0 > summary').click()")
    assert tab.value("document.querySelector('#game-0 .xgd svg').clientHeight > 50")
    tab.value(SET.format("find", "Rival.1", "input"))
    assert 0 < tab.value(SHOWN) < 3
    tab.value(SET.format("find", "no such game", "input"))
    assert tab.value(SHOWN) == 0
    tab.value("location.hash = '#game-2'")
    tab.value(SETTLE)
    assert tab.value(SHOWN) == 3, "a link to a hidden card clears the filter"
    tab.value(SET.format("sort", "gain", "change"))
    gains = tab.value(f"{CARDS}.map((card) => +card.dataset.gain)")
    assert gains == sorted(gains, reverse=True)
    tab.value("[...document.querySelectorAll('.lineage a')].pop().focus()")
    assert len(tab.value("[...document.querySelectorAll('.lineage a.lit')].map(String)")) > 1
    assert tab.problems == []


def test_attacks_do_nothing(tab: Page, hostile_run: Path, tmp_path: Path) -> None:
    assert main(["report", str(hostile_run), "-o", str(tmp_path / "page.html")]) == 0
    tab.open(tmp_path / "page.html", DESKTOP)
    tab.value("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    tab.value(
        "document.querySelectorAll('.mark').forEach((mark) => mark.dispatchEvent("
        "new PointerEvent('pointerover', {bubbles: true})))"
    )
    tab.value(SETTLE)
    assert tab.value("document.title").startswith("Scope growth")
    assert tab.value("document.querySelectorAll('script').length") == 1
    assert tab.value("document.querySelectorAll('img').length") == 0
    assert tab.problems == []
