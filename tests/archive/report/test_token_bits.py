"""Bits for each token: archived plays, played again before the run's judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archive import Archive, Run
from archive.__main__ import main
from archive.report.from_archive import gather_report
from archive.report.token_bits import scored_text_rows, with_token_bits
from xgl import Metadata, game, parse
from xgl.cli.session import Bench, bench
from xgl.runtime.requests import StoryRequest
from xgl.single_play import play

METADATA = Metadata(story_tokens=16, max_len=8)
TEXTS = ("The dog ran over the green hill to the sea.", "A king sat in his tall tower all day.")
SOURCE = "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))"
TWO = "assign(s=story())\nelicit(white, t, 4)\nelicit(x, 8)\nreward(xed(s | x + t))"


class _Told:
    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        return [TEXTS[request.site] for _, request in requests]


@pytest.fixture(scope="module")
def judge() -> Bench:
    return bench("embedded")


def _archive(folder: Path, make_row: Any, source: str, score: float, model: str) -> Path:
    played_game = game(parse(source, "xent"), METADATA)
    place = {"game_id": played_game.game_id, "role": "black"}
    facts = {"story_tokens": 16, "max_len": 8}
    with Archive.create(folder / "archive") as archive:
        archive.commit(
            {
                "runs": [make_row("runs", config_json=json.dumps({"judge": {"model": model}}))],
                "games": [
                    make_row(
                        "games",
                        game_id=played_game.game_id,
                        dialect="xent",
                        code=played_game.code,
                        metadata_json=json.dumps(facts),
                    )
                ],
                "maps": [
                    make_row("maps", map_seed=7, site=site, text=text, n_tokens=12)
                    for site, text in enumerate(TEXTS)
                ],
                "finetunes": [make_row("finetunes", **place, finetune_id="f")],
                "scores": [
                    make_row("scores", **place, policy_id="f", map_seed=7, play_seed=7)
                    | {"purpose": "acceptance", "outcome": "finished", "score": score}
                    | {"moves": ["dog on a hill"]}
                ],
                "scopes": [make_row("scopes", **place)],
            }
        )
    return folder


def _game_with_bits(folder: Path) -> Any:
    with Archive.open(folder / "archive") as archive:
        return with_token_bits(gather_report(Run(archive)), Run(archive)).games[0]


def test_the_tokens_add_up_to_the_score(tmp_path: Path, make_row: Any, judge: Bench) -> None:
    played_game = game(parse(SOURCE, "xent"), METADATA)
    result = play(played_game, {"black": ["dog on a hill"]}, judge.judge, 7, stories=_Told())
    facts = _game_with_bits(
        _archive(tmp_path, make_row, SOURCE, result.scores["black"], "embedded")
    )
    [best] = facts.plays
    assert facts.no_bits == ""
    assert [term.expression for term in best.terms] == ["xed(s | x)", "−xed(t | x)"]
    assert sum(term.bits for term in best.terms) == pytest.approx(result.scores["black"], abs=1e-3)
    for term, text in zip(best.terms, TEXTS, strict=True):
        assert "".join(token.text for token in term.tokens) == text
        assert term.tokens[0].bits is None  # the xent dialect does not count the first token
        bits = [token.bits for token in term.tokens if token.bits is not None]
        assert sum(bits) == pytest.approx(term.bits)


def test_what_the_archive_holds_needs_no_judge(
    tmp_path: Path, make_row: Any, judge: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """A play's rows give what its judge gave, to the bit, where no judge can be loaded."""
    played_game = game(parse(SOURCE, "xent"), METADATA)
    result = play(played_game, {"black": ["dog on a hill"]}, judge.judge, 7, stories=_Told())
    score = result.scores["black"]
    facts = _game_with_bits(_archive(tmp_path / "asked", make_row, SOURCE, score, "embedded"))
    run = _archive(tmp_path / "told", make_row, SOURCE, score, "/nowhere/at/all")
    rows = [row for play in facts.plays for row in scored_text_rows(facts.task_id, play)]
    with Archive.open(run / "archive", "a") as archive:
        archive.commit({"scored_texts": [make_row("scored_texts") | row for row in rows]})
    assert _game_with_bits(run).plays == facts.plays
    out = tmp_path / "report.html"
    assert main(["report", str(run), "-o", str(out)]) == 0, capsys.readouterr().err
    assert "token by token" in out.read_text()


def test_a_replay_with_another_score_shows_no_bits(tmp_path: Path, make_row: Any) -> None:
    facts = _game_with_bits(_archive(tmp_path, make_row, SOURCE, 1234.0, "embedded"))
    assert facts.plays[0].terms == ()
    assert facts.plays[0].texts == TEXTS
    assert facts.no_bits == "the replay did not come to the archived score"


def test_a_play_of_several_cannot_be_repeated(tmp_path: Path, make_row: Any) -> None:
    facts = _game_with_bits(_archive(tmp_path, make_row, TWO, 1.0, "embedded"))
    assert facts.no_bits.startswith("white moved too")


@pytest.mark.parametrize("more", [[], ["--judge", "org/other"]])
def test_a_judge_that_only_a_stranger_names_is_not_loaded(
    tmp_path: Path, make_row: Any, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run = _archive(tmp_path, make_row, SOURCE, 1.0, "vllm:m@http://127.0.0.1:9/v1")
    out = tmp_path / "report.html"
    assert main(["report", str(run), "-o", str(out), *more]) == 2
    stderr = capsys.readouterr().err
    assert "add --judge vllm:m@http://127.0.0.1:9/v1, otherwise --no-judge" in stderr
    assert stderr.count("\n") == 1
    assert main(["report", str(run), "-o", str(out), "--no-judge"]) == 0


def test_a_judge_that_does_not_load_is_an_error(
    tmp_path: Path, make_row: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _archive(tmp_path, make_row, SOURCE, 1.0, "/nowhere/at/all")
    out = tmp_path / "report.html"
    assert main(["report", str(run), "-o", str(out), "--judge", "/nowhere/at/all"]) == 2
    stderr = capsys.readouterr().err
    assert "the run's judge does not load" in stderr
    assert "--no-judge" in stderr
    assert not out.exists()
    assert main(["report", str(run), "-o", str(out), "--no-judge"]) == 0
