"""What a newcomer sees of the games that a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rows import row as make_row

from archive import Archive, Run
from archive.__main__ import main
from archive.report.games import BestPlay, gather_games, replayed_plays, scored_text_rows
from archive.report.summary import gather_report
from archive.schema import TaskId
from xgl import Cast, Metadata, game, parse
from xgl.cli.session import bench
from xgl.runtime.requests import StoryRequest
from xgl.single_play import play


def test_the_plays_shown_are_the_best_beside_the_untrained_players(grown_run: Path) -> None:
    with Archive.open(grown_run) as archive:
        run = Run(archive)
        games, policies = gather_games(run)[0], run.policies
        rows = run.rows("scores")
    for kept in games:
        its = [row for row in rows if row["game_id"] == kept.member.game_id]
        mine = [row for row in its if row["policy_id"] in policies[kept.task_id]]
        fresh = [row["score"] for row in mine if row["purpose"] == "acceptance"]
        own = fresh or [row["score"] for row in mine if row["purpose"] == "selection"]
        assert [play.score for play in kept.plays] == sorted(own, reverse=True)[:3]
        base = {r["map_seed"]: r["score"] for r in its if r["policy_id"] == "base"}
        assert [play.base for play in kept.plays] == [base[play.map_seed] for play in kept.plays]


# -- Bits for each token: archived plays, played again before the run's judge ----------------------


METADATA = Metadata(story_tokens=16, max_len=8)
TEXTS = ("The dog ran over the green hill to the sea.", "A king sat in his tall tower all day.")
SOURCE = "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))"


class _Told:
    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        return [TEXTS[request.site] for _, request in requests]


@pytest.fixture(scope="module")
def judge() -> Cast:
    return bench("embedded")


PLAYED = game(parse(SOURCE, "xent"), METADATA)
MOVES = ("dog on a hill",)


def told(score: float) -> BestPlay:
    return BestPlay("f", 7, 7, TEXTS, MOVES, score, None)


@pytest.fixture(scope="module")
def score(judge: Cast) -> float:
    result = play(PLAYED, {"black": [*MOVES]}, judge.judge, 7, stories=_Told())
    return float(result.scores["black"])


def test_the_tokens_add_up_to_the_score(score: float, judge: Cast) -> None:
    [best] = replayed_plays(PLAYED, "black", [told(score)], judge.judge)
    assert [term.expression for term in best.terms] == ["xed(s | x)", "−xed(t | x)"]
    assert sum(term.bits for term in best.terms) == pytest.approx(score, abs=1e-3)
    for term, text in zip(best.terms, TEXTS, strict=True):
        assert "".join(token.text for token in term.tokens) == text
        assert term.tokens[0].bits is None  # the xent dialect does not count the first token
        bits = [token.bits for token in term.tokens if token.bits is not None]
        assert sum(bits) == pytest.approx(term.bits)


def test_the_report_shows_what_the_archive_holds(tmp_path: Path, score: float, judge: Cast) -> None:
    """To the bit, without a judge; before the run has scored a play it says so."""
    place = {"game_id": PLAYED.game_id, "role": "black"}
    texts = [make_row("maps", map_seed=7, site=n, text=s, n_tokens=12) for n, s in enumerate(TEXTS)]
    facts = {"dialect": "xent", "code": PLAYED.code}
    facts["metadata_json"] = '{"story_tokens": 16, "max_len": 8}'
    played = {"policy_id": "f", "map_seed": 7, "play_seed": 7, "moves": [*MOVES], "score": score}
    ended = {"purpose": "acceptance", "outcome": "finished"}
    rows = {
        "runs": [make_row("runs")],
        "games": [make_row("games", game_id=PLAYED.game_id, **facts)],
        "maps": texts,
        "finetunes": [make_row("finetunes", **place, finetune_id="f")],
        "scores": [make_row("scores", **place, **played, **ended)],
        "scopes": [make_row("scopes", **place)],
    }
    with Archive.create(tmp_path / "archive") as archive:
        archive.commit(rows)
        [facts_before] = gather_report(Run(archive)).games
        assert facts_before.plays == (told(score),)
        assert facts_before.no_bits == "the run scores them when it finishes"
        [best] = replayed_plays(PLAYED, "black", facts_before.plays, judge.judge)
        scored = scored_text_rows(TaskId(PLAYED.game_id, "black"), best)
        archive.commit({"scored_texts": [make_row("scored_texts") | row for row in scored]})
        [facts_after] = gather_report(Run(archive)).games
        assert (facts_after.plays, facts_after.no_bits) == ((best,), "")
    out = tmp_path / "report.html"
    assert main(["report", str(tmp_path), "-o", str(out)]) == 0
    assert "token by token" in out.read_text()
