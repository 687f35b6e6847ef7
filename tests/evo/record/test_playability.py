"""The filters of calibrated games: repeated play on the embedded model, and what they refuse. The
paper's ill-posed games are refused, and the library's other games are not (Def. 30)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from archive import Purpose, Reason
from archive.statistics.rounds import WellPosed, series
from archive.statistics.rule import Decision
from evo.config.models import JudgeConfig, ModelHostSettings, PlayerConfig
from evo.config.schema import GameConfig
from evo.growth.initial_scope import metadata
from evo.jobs.evaluation import RoundScore, Task, evaluation_seeds, play_row, round_rows
from evo.jobs.job import Evaluation, Repetition, UnlikelyMoves
from evo.jobs.model_host import ModelHost
from evo.record import playability
from xgl.analysis.static_facts import learning_roles, surprise_writers
from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.library import entries
from xgl.runtime.machine import asked_stories
from xgl.runtime.requests import Seeds

MakeTask = Callable[..., Task]
MakeModelHost = Callable[..., ModelHost]
SEEDS = tuple(evaluation_seeds("calibration", 0, 6))
CONFIG = playability.PlayabilityConfig(few_shot_rounds=4, few_shot_maps=6)


@pytest.fixture(scope="module")
def lab(make_model_host: MakeModelHost) -> ModelHost:
    return make_model_host()


def repetition_scores(lab: ModelHost, task: Task, rounds: int = 4) -> list[RoundScore]:
    outcome: Any = lab.do(Repetition(task, SEEDS, rounds)).outcome
    return list(outcome)


def test_repetition_gives_rows_of_both_kinds(lab: ModelHost, make_task: MakeTask) -> None:
    scores = repetition_scores(lab, make_task(), 3)
    kinds = [(s.number, s.control) for s in scores[:: len(SEEDS)]]
    assert kinds == [(1, False), (2, False), (2, True), (3, False), (3, True)]
    own, control = series(round_rows("base", make_task(), "calibration", scores))
    assert own.shape == (6, 3)
    assert control is not None
    assert (own[:, 0] == control[:, 0]).all()
    assert (own[:, 1:] != control[:, 1:]).any()
    assert all(s.new_tokens < s.tokens for s in scores)
    assert repetition_scores(lab, make_task(), 3)[0].score == scores[0].score


def test_clipping_bounds_scores_and_raises_no_xent(lab: ModelHost, make_task: MakeTask) -> None:
    """The vocabulary has 4096 tokens: at most 12 bits each."""
    task = make_task("assign(s=story())\nelicit(t, 8)\nreward(xent(t))\n")
    outcome: Any = lab.do(Evaluation(task, (None,), (SEEDS,))).outcome
    for score in outcome[0]:
        assert score.clipped_score is not None
        assert score.clipped_score <= score.score + 1e-6
        assert score.clipped_score <= 12 * 8
    rows = [play_row("base", task, "calibration", each) for each in outcome[0]]
    assert playability.well_posed(rows) is not None


def _rows(plain: list[float], clipped_scores: list[float]) -> list[dict[str, Any]]:
    """The move made for another map scores 0 either way."""
    return [
        {"score": s, "permuted_score": 0.0, "clipped_score": c, "permuted_clipped_score": 0.0}
        for s, c in zip(plain, clipped_scores, strict=True)
    ]


def test_a_game_whose_best_moves_are_artifacts_is_ill_posed() -> None:
    stable = playability.well_posed(_rows([1.0] * 20, [1.0] * 20))
    unstable = playability.well_posed(_rows([1.0] * 20, [-1.0] * 16 + [1.0] * 4))
    assert stable
    assert unstable
    assert playability.ill_posed([stable], CONFIG, 0.95) is None
    detail = "clipping keeps the best move on 4 of 20 maps"
    assert playability.ill_posed([stable, unstable], CONFIG, 0.95) == Decision(
        Reason.ILL_POSED, True, detail
    )
    unsure = playability.well_posed(_rows([1.0] * 20, [-1.0] * 12 + [1.0] * 8))
    assert unsure
    assert playability.ill_posed([unsure], CONFIG, 0.95) is None, "8 of 20 may still be a half"
    assert playability.ill_posed([], CONFIG, 0.95) is None
    assert playability.evidence_columns([stable, unstable], None)["best_kept"] == 0.2


# -- the search for games that pay for improbable words (Def. 30) ----------------------------------


ILL = {
    "remark 29": "elicit(t, 10)\nreward(xent(t))",
    "after a story": "assign(s=story())\nelicit(t, 10)\nreward(xent(t|s))",
    "under a rule": 'assign(s=story())\nelicit(t, 10)\nensure("no common words between"+s+"&"+t)\n'
    "reward(xent(t)-xent(s|t))",
    "paradoxical": "elicit(white, s, 40)\nelicit(black, t, 8)\nreward(white, xent(s|t))",
}
"""White's seat of the paradoxical game, or the only seat; black's is refused with white's."""
SOUND = {
    "its reverse": "elicit(t, 10)\nreward(nex(t))",
    "a prefix": "assign(s=story())\nelicit(t, 8)\nreward(xed(s|t))",
    "a surprise by others": "assign(s=story())\nelicit(t, 8)\nreward(dex(s|t))",
}
LIBRARY = [
    pytest.param(entry.text, entry.dialect, role, id=f"{entry.name}:{role}")
    for entry in entries()
    if not entry.ill_posed
    for program in [parse(entry.text, entry.dialect)]
    for role in learning_roles(program)
    if surprise_writers(program, role)
]
"""The seats whose words are paid for surprise; all others are not searched."""


@pytest.fixture(scope="module")
def host() -> ModelHost:
    return ModelHost(ModelHostSettings(JudgeConfig(), PlayerConfig()))


@pytest.fixture(scope="module")
def writing_host() -> ModelHost:
    """Its judge writes the maps: some games ask for texts by a prompt, which a corpus refuses."""
    return ModelHost(ModelHostSettings(JudgeConfig(stories="judge"), PlayerConfig()))


def refused(host: ModelHost, text: str, dialect: str, role: str, seed: int = 0) -> bool:
    """Whether the search refuses a seat, at its first look or its second."""
    whole = game(parse(text, dialect), metadata(GameConfig()))
    config, decision = playability.PlayabilityConfig(), None
    for maps in (playability.SEARCHED_MAPS, 2 * playability.SEARCHED_MAPS):
        seeds = tuple(evaluation_seeds(Purpose.CALIBRATION, seed, maps))
        roles = surprise_writers(whole.program, role)
        found = [search(host, Task(whole, player), seeds) for player in roles]
        decision = playability.ill_posed(found, config, 0.95)
        if decision or all(each.share > config.best_kept for each in found):
            break
    return decision is not None


def search(host: ModelHost, task: Task, seeds: tuple[Seeds, ...]) -> WellPosed:
    """What clipping keeps of the best of random and base moves."""
    searched = host.do(UnlikelyMoves(task, playability.UNLIKELY, seeds)).outcome
    [own] = host.do(Evaluation(task, (None,), (seeds,))).outcome
    best, median, base = (
        [play_row("", task, "calibration", each) for each in plays] for plays in (*searched, own)
    )
    result = playability.likely_best(best, median, base)
    assert result is not None
    return result


@pytest.mark.parametrize(("name", "dialect"), [*zip([*ILL, *SOUND], cycle(["paper", "xent"]))])
def test_games_that_pay_for_improbable_words_are_refused_and_others_kept(
    host: ModelHost, name: str, dialect: str
) -> None:
    """Others: that pay for likely words, or for the words of others."""
    text = (ILL | SOUND)[name]
    for role in learning_roles(parse(text, dialect)) if name in ILL else ("black",):
        assert refused(host, text, dialect, role) == (name in ILL), role


@pytest.mark.long
@pytest.mark.parametrize(("text", "dialect", "role"), LIBRARY)
def test_every_sound_seat_of_the_library_is_kept(
    host: ModelHost, writing_host: ModelHost, text: str, dialect: str, role: str
) -> None:
    asked = asked_stories(game(parse(text, dialect), metadata(GameConfig())))
    writes = any(request.prompt for request in asked)
    assert not refused(writing_host if writes else host, text, dialect, role)
