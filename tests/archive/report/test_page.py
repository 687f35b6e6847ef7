"""``python -m archive report``: what it writes, and how it refuses."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from archive import Archive, Run
from archive.__main__ import main
from archive.report.gathering import gather_report
from archive.report.page import page
from archive.text import signed

VOID = {"meta", "input", "br", "img", "link", "hr"}


class _Nesting(HTMLParser):
    """Raises where a tag is closed that is not open; keeps scripts and addresses."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts, self.ids, self.links = 0, [], []
        self.events: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        self._attributes(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(attrs)

    def _attributes(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.events.append(name)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], self.open[-3:]
        self.open.pop()


def _write_page(run: Path, out: Path, *more: str) -> str:
    assert main(["report", str(run), "-o", str(out), *more]) == 0
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def grown_page(grown_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return _write_page(grown_run, tmp_path_factory.mktemp("page") / "report.html")


def test_the_page_has_every_section_and_card(grown_page: str) -> None:
    nesting = _Nesting(grown_page)
    assert nesting.open == []
    assert len(nesting.ids) == len(set(nesting.ids))
    for name in ("growth", "transfer", "decisions", "cost", "covers", "measures", "games", "run"):
        assert name in nesting.ids
    assert sum(name.startswith("game-") for name in map(str, nesting.ids)) == 16
    assert {link for link in nesting.links if link.startswith("#")} <= {
        f"#{i}" for i in nesting.ids
    }


def test_the_page_opens_with_the_games_that_were_kept(grown_run: Path, grown_page: str) -> None:
    """Before any figure: what a game pays for, its best play and why it was kept."""
    opening = grown_page.split("<main>")[0]
    assert "<svg" not in opening
    heading = r"<h2><a href=\"#game-(\d+)\">(.*?)</a>: (.*?)</h2>(.*?)</li>\n"
    games = re.findall(heading, opening, re.S)
    assert len(games) == 6
    assert "7 more new games" in opening
    with Archive.open(grown_run / "archive") as archive:
        run = Run(archive)
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


def test_the_page_needs_no_network_and_permits_no_other_script(grown_page: str) -> None:
    nesting = _Nesting(grown_page)
    assert nesting.scripts == 1
    assert all(link.startswith(("#", "data:")) for link in nesting.links)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", grown_page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "default-src &#39;none&#39;" in grown_page or "default-src 'none'" in grown_page
    assert "unsafe" not in grown_page.split("</head>")[0].split("<style>")[0]


def test_models_measured_elsewhere_are_shown_on_demand(
    run_folder: Path, grown_run: Path, tmp_path: Path
) -> None:
    """The games of one archive, measured into another: only the players of its games are shown."""
    with Archive.open(grown_run / "archive") as archive:
        [row, *_] = archive.rows("measures")
    with Archive.open(run_folder / "archive") as archive:
        [member, *_] = archive.rows("scopes")
    with Archive.create(tmp_path / "measured" / "archive") as archive:
        ours = {**row, "run_id": "other", "exported_game_id": member["game_id"]}
        theirs = {**row, "run_id": "other", "policy_id": "of another scope"}
        archive.commit({"measures": [{**ours, "policy_id": "gamester-7"}, theirs]})
    text = _write_page(run_folder, tmp_path / "m.html", "--measured", str(tmp_path / "measured"))
    assert "gamester-7" in text
    assert "of another scope" not in text
    assert "gamester-7" not in _write_page(run_folder, tmp_path / "plain.html")


def test_attacks_are_shown_and_not_obeyed(hostile_run: Path, tmp_path: Path) -> None:
    text = _write_page(hostile_run, tmp_path / "report.html")
    nesting = _Nesting(text)
    assert nesting.open == []
    assert nesting.scripts == 1
    assert nesting.events == []
    assert not any("javascript" in link for link in nesting.links)
    for character in "\u2028\u202e":
        assert character not in text
    assert "\\u202e" in text
    assert "&lt;img src=x onerror=" in text
    assert "{{ 7*7 }}" in text


def _damage(run: Path) -> None:
    """In the middle of the scores themselves: other columns may not be read at all."""
    largest = max((run / "archive" / "scores").glob("*.parquet"), key=lambda p: p.stat().st_size)
    group = pq.read_metadata(largest).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    scores = next(each for each in columns if each.path_in_schema == "score")
    content = bytearray(largest.read_bytes())
    content[scores.data_page_offset + scores.total_compressed_size // 2] ^= 0xFF
    largest.write_bytes(bytes(content))


def _empty(run: Path) -> None:
    shutil.rmtree(run)
    Archive.create(run / "archive").close()


def _truncate(run: Path) -> None:
    file = max((run / "archive" / "games").glob("*.parquet"), key=lambda p: p.stat().st_size)
    file.write_bytes(file.read_bytes()[:40])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_empty, "is empty: found no run"),
        (_damage, "is damaged"),
        (_truncate, "is damaged: found 40 bytes"),
        (shutil.rmtree, "is not an archive: found no such folder"),
    ],
)
def test_a_bad_archive_is_one_sentence(
    run_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Any,
    message: str,
) -> None:
    change(run_folder)
    out = tmp_path / "report.html"
    assert main(["report", str(run_folder), "-o", str(out)]) == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith("error: ")
    assert message in stderr
    assert stderr.count("\n") == 1
    assert not out.exists()


def test_a_page_is_a_function_of_the_archive(grown_run: Path, grown_page: str) -> None:
    with Archive.open(grown_run / "archive") as archive:
        again = page(gather_report(Run(archive)))
    date_pattern = re.compile(r"Made [\d :-]+ UTC")
    assert date_pattern.sub("", again) == date_pattern.sub("", grown_page)


def test_the_command_line_stays_light() -> None:
    check = (
        "import sys, archive, archive.__main__;"
        "print({'torch', 'jinja2', 'scipy.cluster', 'archive.report'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert process.stdout == "set()\n"


@pytest.mark.long
def test_a_thousand_games_fit(tmp_path: Path) -> None:
    from support.archives import write_large

    text = _write_page(write_large(tmp_path / "large", 1000, 6), tmp_path / "report.html")
    assert len(text.encode()) < 10_000_000
    nesting = _Nesting(text)
    assert nesting.open == []
    assert sum(str(name).startswith("game-") for name in nesting.ids) == 1000
