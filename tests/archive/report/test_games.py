"""What a newcomer sees of the games that a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.measured import Given, build, story
from support.rows import row, write

from archive import Archive, Run
from archive.__main__ import main
from archive.report.games import gather_games, replayed_plays, scored_text_rows
from archive.report.summary import gather_report
from archive.schema import TaskId
from xgl.judge.loading import load_judge


def test_the_plays_shown_are_the_best_beside_the_untrained_players(grown_run: Path) -> None:
    run = Run(Archive.open(grown_run))
    games, policies, rows = gather_games(run)[0], run.policies, run.rows("scores")
    for kept in games:
        its = [row for row in rows if row["game_id"] == kept.member.game_id]
        mine = [row for row in its if row["policy_id"] in policies[kept.task_id]]
        fresh = [row["score"] for row in mine if row["purpose"] == "acceptance"]
        own = fresh or [row["score"] for row in mine if row["purpose"] == "selection"]
        assert [play.score for play in kept.plays] == sorted(own, reverse=True)[:3]
        base = {r["map_seed"]: r["score"] for r in its if r["policy_id"] == "base"}
        assert [play.base for play in kept.plays] == [base[play.map_seed] for play in kept.plays]


PLAYED = Given("assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))")
MOVES = (("a hen by the river",), ("a hen on a hill",))


def test_the_report_shows_what_the_archive_holds_and_tokens_add_up(tmp_path: Path) -> None:
    """To the bit, without a judge; before the run has scored a play it says so."""
    judge, task_id = load_judge("embedded"), TaskId(PLAYED.game.game_id, "black")
    archive_folder = build(tmp_path / "archive", [PLAYED], maps=1, moves=MOVES, judge=judge)
    write(archive_folder, finetunes=[row("finetunes", **task_id._asdict(), finetune_id="f1")])
    with Archive.open(archive_folder, "a") as archive:
        [before] = gather_report(Run(archive)).games
        [told] = before.plays
        assert (told.policy_id, told.moves, told.terms) == ("f1", MOVES[1], ())
        assert before.no_bits == "the run scores them when it finishes"
        [best] = replayed_plays(PLAYED.game, "black", before.plays, judge)
        assert [term.expression for term in best.terms] == ["xed(s | x)", "−xed(t | x)"]
        total = sum(sum(term.token_bits) for term in best.terms)
        assert total == pytest.approx(told.score, abs=1e-3)
        for site, term in enumerate(best.terms):
            assert "".join(term.tokens) == story(told.map_seed, site)
            (_, first), *others = term.pieces  # the xent dialect does not count the first token
            assert (first, tuple(bits for _, bits in others)) == (None, term.token_bits)
        scored = scored_text_rows(task_id, best)
        archive.commit({"scored_texts": [row("scored_texts") | each for each in scored]})
        [after] = gather_report(Run(archive)).games
        assert (after.plays, after.no_bits) == ((best,), "")
    out = tmp_path / "report.html"
    assert main(["report", str(tmp_path), "-o", str(out)]) == 0
    assert "token by token" in out.read_text()
