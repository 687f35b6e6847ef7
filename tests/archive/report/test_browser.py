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
DESKTOP, PHONE = (1280, 900), (390, 844)


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


def _open(tab: Page, file: Path, fragment: str = "", size: tuple[int, int] = DESKTOP) -> None:
    tab.problems.clear()
    tab.media()
    tab.size(*size, mobile=size == PHONE)
    tab.open(file, fragment)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_renders_without_errors(
    tab: Page, report: Path, size: tuple[int, int], scheme: str
) -> None:
    _open(tab, report, size=size)
    tab.media(scheme=scheme)
    assert tab.value("document.querySelector('h1').textContent") == "What the search found"
    assert tab.value("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    paper = tab.value("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in paper[4:-1].split(",")) < 3 * 128
    assert dark == (scheme == "dark")
    assert tab.problems == []


def test_a_card_opens_by_click_key_and_link(tab: Page, report: Path) -> None:
    _open(tab, report)
    open_script = "document.getElementById('game-{}').open"
    tab.value("document.querySelector('#game-0 > summary').click()")
    assert tab.value(open_script.format(0))
    assert tab.value("document.querySelector('#game-0 .xgd svg').clientHeight > 50")
    tab.value(
        "document.querySelector('.lineage a[href=\"#game-3\"]').dispatchEvent("
        "new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    tab.value(SETTLE)
    assert tab.value(open_script.format(3))
    assert tab.value("document.activeElement.closest('details').id") == "game-3"
    assert tab.problems == []


def test_a_filter_filters_and_a_sort_sorts(tab: Page, report: Path) -> None:
    _open(tab, report)
    assert tab.value(SHOWN) == 16
    filter_script = "(() => {{ const find = document.getElementById('find'); find.value = {!r};"
    filter_script += " find.dispatchEvent(new Event('input')); }})()"
    tab.value(filter_script.format("xent(x)"))
    shown = tab.value(SHOWN)
    assert 0 < shown < 16
    assert tab.value("document.getElementById('count').textContent") == f"{shown} of 16 games"
    tab.value(filter_script.format("no such game"))
    assert tab.value(SHOWN) == 0
    assert tab.value("!document.getElementById('none').hidden")
    tab.value("location.hash = '#game-2'")
    tab.value(SETTLE)
    assert tab.value(SHOWN) == 16, "a link to a hidden card clears the filter"
    choice_script = "(() => {{ const box = document.getElementById({!r}); box.value = {!r};"
    choice_script += " box.dispatchEvent(new Event('change')); }})()"
    tab.value(choice_script.format("sort", "gain"))
    gains = tab.value(
        "[...document.querySelectorAll('details.game')].map((card) => +card.dataset.gain)"
    )
    assert gains == sorted(gains, reverse=True)
    assert tab.problems == []


def test_a_line_of_descent_lights_up(tab: Page, report: Path) -> None:
    _open(tab, report)
    deepest = "[...document.querySelectorAll('.lineage a')].pop()"
    tab.value(f"{deepest}.focus()")
    lit_games = tab.value(
        "[...document.querySelectorAll('.lineage a.lit')].map((node) => node.dataset.game)"
    )
    line = tab.value(
        f"(() => {{ const found = []; let node = {deepest}; while (node) {{ "
        "found.push(node.dataset.game); node = node.dataset.parent === undefined ? null : "
        'document.querySelector(`.lineage a[data-game="${node.dataset.parent}"]`); } '
        "return found; })()"
    )
    assert len(line) > 1
    assert set(line) <= set(lit_games)
    assert "generation" in tab.value("document.getElementById('tip').textContent")
    assert not tab.value("document.getElementById('tip').hidden")


def test_it_reads_without_scripts_and_in_print(tab: Page, report: Path) -> None:
    _open(tab, report)
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(report)
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert tab.value("document.querySelector('form.tools').hidden"), "no tools that do nothing"
    assert tab.value("document.querySelectorAll('.xgd svg').length") == 16
    tab.media("print")
    inside = "document.querySelector('#game-0 .rules').getBoundingClientRect().height"
    assert tab.value(inside) > 10, "closed cards are printed open"
    assert tab.pdf().startswith(b"%PDF")


def test_names_and_order_for_those_who_do_not_see(tab: Page, report: Path) -> None:
    _open(tab, report)
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    nameless_roles = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node["role"]["value"] in ("link", "button", "textbox", "searchbox", "combobox", "image")
        and not node.get("name", {}).get("value")
    ]
    assert nameless_roles == []
    levels = tab.value("[...document.querySelectorAll('h1, h2')].map((head) => head.tagName)")
    assert levels[0] == "H1"
    assert set(levels[1:]) == {"H2"}
    tab.value("document.body.focus()")
    tab.key("Tab", 9)
    assert tab.value("document.activeElement.className") == "skip"


def test_attacks_do_nothing(tab: Page, hostile_run: Path, tmp_path: Path) -> None:
    file = _report(hostile_run, tmp_path)
    _open(tab, file)
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
