"""The page in a browser: it renders, opens, finds, follows, prints, and obeys nobody else.

These need a Chromium on the PATH; where there is none they fail and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Page, browser

from archive.__main__ import main

pytestmark = pytest.mark.long
SETTLE = "new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)))"
SHOWN = "[...document.querySelectorAll('details.game')].filter((card) => !card.hidden).length"
DESKTOP, PHONE = (1280, 900), (420, 844)
SET = "(() => {{ const box = document.getElementById({!r}); box.value = {!r};"
SET += " box.dispatchEvent(new Event({!r})); }})()"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile") / "chromium") as page:
        yield page


@pytest.fixture(scope="module")
def report(grown_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _report(grown_run, tmp_path_factory.mktemp("report"))


def _report(run: Path, folder: Path) -> Path:
    out = folder / "report.html"
    assert main(["report", str(run), "-o", str(out)]) == 0
    return out


def _open(tab: Page, file: Path, size: tuple[int, int] = DESKTOP) -> None:
    tab.problems.clear()
    tab.media()
    tab.size(*size, mobile=size == PHONE)
    tab.open(file)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_without_errors(
    tab: Page, report: Path, size: tuple[int, int], scheme: str
) -> None:
    _open(tab, report, size)
    tab.media(scheme=scheme)
    assert tab.value("document.querySelector('h1').textContent") == "What the search found"
    assert tab.value("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    paper = tab.value("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in paper[4:-1].split(",")) < 3 * 128
    assert dark == (scheme == "dark")
    assert tab.problems == []


def test_a_card_opens_a_filter_filters_and_a_sort_sorts(tab: Page, report: Path) -> None:
    _open(tab, report)
    tab.value("document.querySelector('#game-0 > summary').click()")
    assert tab.value("document.querySelector('#game-0 .xgd svg').clientHeight > 50")
    tab.value(SET.format("find", "xent(x)", "input"))
    assert 0 < tab.value(SHOWN) < 16
    tab.value(SET.format("find", "no such game", "input"))
    assert tab.value(SHOWN) == 0
    tab.value("location.hash = '#game-2'")
    tab.value(SETTLE)
    assert tab.value(SHOWN) == 16, "a link to a hidden card clears the filter"
    tab.value(SET.format("sort", "gain", "change"))
    gains = tab.value(
        "[...document.querySelectorAll('details.game')].map((card) => +card.dataset.gain)"
    )
    assert gains == sorted(gains, reverse=True)
    tab.value("[...document.querySelectorAll('.lineage a')].pop().focus()")
    assert len(tab.value("[...document.querySelectorAll('.lineage a.lit')].map(String)")) > 1
    assert tab.problems == []


def test_it_reads_without_scripts_and_in_print(tab: Page, report: Path) -> None:
    _open(tab, report)
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(report)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.value("document.querySelector('form.tools').hidden"), "no tools that do nothing"
    tab.media("print")
    inside = "document.querySelector('#game-0 .rules').getBoundingClientRect().height"
    assert tab.value(inside) > 10, "closed cards are printed open"
    assert tab.pdf().startswith(b"%PDF")


def test_whatever_can_be_used_has_a_name(tab: Page, report: Path) -> None:
    _open(tab, report)
    roles = ("link", "button", "textbox", "searchbox", "combobox", "image")
    for node in tab.call("Accessibility.getFullAXTree")["nodes"]:
        if not node.get("ignored") and node["role"]["value"] in roles:
            assert node.get("name", {}).get("value"), node["role"]


def test_attacks_do_nothing(tab: Page, hostile_run: Path, tmp_path: Path) -> None:
    _open(tab, _report(hostile_run, tmp_path))
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
