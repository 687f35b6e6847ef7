"""``python -m archive report``: what it writes, and how it refuses."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.example import EXAMPLE
from support.markup import Markup
from support.measured import CONFIG, Given, build as build_played
from support.rated import CODE, THREE, build, draw_scores
from support.rows import game_row, row, write

from archive import Archive, Run
from archive.__main__ import main
from archive.report.figures import lineage
from archive.report.page import page
from archive.report.summary import gather_report
from archive.text import signed
from xgl.diagram.svg import render


def _write_page(run: Path, out: Path, *more: str) -> str:
    assert main(["report", str(run), "-o", str(out), *more]) == 0
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def grown_page(grown_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return _write_page(grown_run, tmp_path_factory.mktemp("page") / "report.html")


def test_a_page_is_replaced_only_with_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    assert main(["report", str(EXAMPLE), "-o", str(page)]) == 2
    assert "--force" in capsys.readouterr().err
    assert page.read_text() == "mine"
    assert "<main>" in _write_page(EXAMPLE, page, "--force")


def test_the_page_has_every_section_and_card(grown_page: str) -> None:
    read = Markup(grown_page)
    ids = read.values("id")
    assert read.open == []
    assert len(ids) == len(set(ids))
    sections = {"growth", "transfer", "decisions", "games", "run"}
    assert sections <= set(ids)
    assert sum(name.startswith("game-") for name in ids) == 3
    assert "token by token" in grown_page
    links = {link for link in read.values("href") if link.startswith("#")}
    assert links <= {f"#{name}" for name in ids}


def test_the_page_opens_with_the_games_that_were_kept(grown_run: Path, grown_page: str) -> None:
    """Before any figure: what a game pays for, its best play and why it was kept."""
    opening = grown_page.split("<main>")[0]
    assert "<svg" not in opening
    heading = r"<h2><a href=\"#game-(\d+)\">(.*?)</a>: (.*?)</h2>(.*?)</li>\n"
    games = re.findall(heading, opening, re.S)
    assert len(games) == 2
    run = Run(Archive.open(grown_run))
    report, accepted = gather_report(run), run.accepted
    for place, name, title, text in games:
        game = report.games[int(place)]
        assert (game.name, game.member.generation > 0) == (name, True)
        assert (html.unescape(title), bool(title)) == (game.title, True)
        assert re.search(r"<strong>[^<]* is paid [^<]*</strong>", text)
        best = game.plays[0]
        assert f"{signed(best.score)} bits" in text
        assert best.base is not None
        assert f"the untrained player got {signed(best.base)}" in text
        row = accepted[game.task_id]
        assert f"(at least {row['alpha1']:.0%} was asked)" in text
        assert f"taught {max(0.0, row['gamma']):.0%} of its lesson already" in text


def test_a_large_matrix_has_its_values_in_its_cells(grown_run: Path) -> None:
    report = gather_report(Run(Archive.open(grown_run)))
    text = page(replace(report, games=[*report.games] * 11))
    assert text.count('title="trained on ') == 33**2
    assert not re.search(r'title="trained on [^>]*></td>', text)


def test_a_name_stays_within_its_generation() -> None:
    member, name = SimpleNamespace(generation=1, gamma=0.5), f"Rival{'.1' * 20}.2 (black)"
    game = SimpleNamespace(name=name, place=0, member=member, parent=None, children=[], pay="")
    drawn = render(lineage([game]))
    assert f">…{name[-20:]}<" in drawn
    assert f'aria-label="{name}, ' in drawn


def test_the_page_needs_no_network_and_permits_no_other_script(grown_page: str) -> None:
    read = Markup(grown_page)
    assert read.tags.count("script") == 1
    assert all(link.startswith(("#", "data:")) for link in read.values("href", "src"))
    addresses = set(re.findall(r"https?://[^\s\"'<]+", grown_page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "default-src &#39;none&#39;" in grown_page or "default-src 'none'" in grown_page
    assert "unsafe" not in grown_page.split("</head>")[0].split("<style>")[0]


def test_scores_of_other_games_and_in_other_units_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, scores = ["report", str(EXAMPLE), "-o", f"{tmp_path / 'p.html'}"], draw_scores(0, THREE)
    with Archive.open(EXAMPLE) as archive:
        origins = [each["game_id"] for each in archive.rows("scopes")][:3]
    units = [
        build(tmp_path / f"{m}", {f"m{m}": each}, range(3), exported=origins, m=m)
        for m, each in zip((4, 2), scores.values(), strict=False)
    ]
    assert main([*report, f"--measured={build(tmp_path / 'other', scores, range(3))}"]) == 2
    assert "holds no game of scope_growth-seed0" in capsys.readouterr().err
    assert main([*report, *(f"--measured={each}" for each in units)]) == 2
    assert "in units of base with m = 2 and base with m = 4" in capsys.readouterr().err


DUEL = "assign(s=story())\nelicit(t, 4)\nelicit(white, x, 4)\nreward(xed(s | t) - xed(s | x))"


def _write_few(folder: Path) -> Path:
    """A scope of two games that was decided by V: the only play of one has no move, in that of the
    other two players moved."""
    members = [Given(CODE.format(9)), Given(DUEL)]
    games = [member.game.game_id for member in members]
    ids = [{"run_id": "r1", "game_id": game_id, "role": "black"} for game_id in games]
    play = {"purpose": "acceptance", "map_seed": 1, "outcome": "finished"}
    text = {"policy_id": games[0], "map_seed": 1, "tokens": ["a hen"]}
    decision = {"definition": "def37", "captured_def37": 0.5, "gamma": 0.1, "verdict": "accepted"}
    config = CONFIG | {"transfer": {"definition": "def37", "gain": "total"}}
    write(
        build_played(folder / "archive", members, maps=1, config=config),
        finetunes=[row("finetunes", **each, finetune_id=each["game_id"]) for each in ids],
        scores=[row("scores", **each, **play, policy_id=each["game_id"]) for each in ids],
        scored_texts=[row("scored_texts", **ids[0], **text)],
        decisions=[row("decisions", **ids[1], **decision, alpha1=0.3, alpha2=0.2)],
        scopes=[row("scopes", **each, scope=1, generation=1, gamma=0.1) for each in ids],
    )
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, hostile_run: Path) -> dict[str, str]:
    """What is written about several runs, by name; on games of "few" three models were measured."""
    folder = tmp_path_factory.mktemp("pages")
    runs, game = {"few": _write_few(folder / "few")}, Given(CODE.format(9)).game
    scopes = [row("scopes", game_id=game.game_id, role="black")]  # and nothing else about it
    of_run = {"runs": [row("runs", config_json="{}")], "games": [game_row(game)]}
    runs["one"] = write(folder / "one" / "archive", **of_run, scopes=scopes).parent
    origins = [each["game_id"] for each in Archive.open(runs["few"]).rows("scopes")]
    scores = draw_scores(0, THREE, 4)
    measured = build(folder / "measured", scores, range(len(origins)), exported=origins)
    texts = {}
    for name, run in {**runs, "attacks": hostile_run}.items():
        more = ["--measured", str(measured)] if name == "few" else []
        texts[name] = _write_page(run, folder / f"{name}.html", *more)
    return texts


SHOWN = {
    "few": ["Definition 37", "no move", "whole scope", "normalised score", "Best play as black"],
    "one": ["No game has joined"],
    "attacks": ["cannot read it", "\\u202e", "&lt;img src=x onerror=", "{{ 7*7 }}"],
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_an_archive_holds_is_shown(pages: dict[str, str], name: str) -> None:
    assert [each for each in SHOWN[name] if each not in pages[name]] == []
