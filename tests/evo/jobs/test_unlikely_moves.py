"""The paper's ill-posed games are refused, and the library's other games are not (Def. 30)."""

from __future__ import annotations

from itertools import cycle

import pytest

from archive import Purpose
from archive.statistics.rounds import WellPosed
from evo.config.models import JudgeConfig, ModelHostSettings, PlayerConfig
from evo.config.schema import GameConfig, PlayabilityConfig
from evo.growth.initial_scope import metadata
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, UnlikelyMoves
from evo.jobs.model_host import ModelHost
from evo.record.ledger import score_rows
from evo.record.playability import SEARCHED_MAPS, UNLIKELY, ill_posed, keeps_few, likely_best
from xgl.analysis.static_facts import learning_roles, surprise_writers
from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.library import entries
from xgl.runtime.machine import asked_stories
from xgl.runtime.requests import Seeds

PARADOXICAL = "elicit(white, s, 40)\nelicit(black, t, 8)\nreward(white, xent(s|t))"
ILL = {
    "remark 29": "elicit(t, 10)\nreward(xent(t))",
    "after a story": "assign(s=story())\nelicit(t, 10)\nreward(xent(t|s))",
    "under a rule": 'assign(s=story())\nelicit(t, 10)\nensure("no common words between"+s+"&"+t)\n'
    "reward(xent(t)-xent(s|t))",
    "paradoxical": PARADOXICAL,
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
    whole, config = game(parse(text, dialect), metadata(GameConfig())), PlayabilityConfig()
    decision = None
    for maps in (SEARCHED_MAPS, 2 * SEARCHED_MAPS):
        seeds = tuple(evaluation_seeds(Purpose.CALIBRATION, seed, maps))
        roles = surprise_writers(whole.program, role)
        found = [search(host, Task(whole, player), seeds) for player in roles]
        decision = ill_posed(found, config, 0.95)
        if decision or not keeps_few(found, config):
            break
    return decision is not None


def search(host: ModelHost, task: Task, seeds: tuple[Seeds, ...]) -> WellPosed:
    """What clipping keeps of the best of random and base moves."""
    searched = host.do(UnlikelyMoves(task, UNLIKELY, seeds)).outcome
    best, median = (score_rows("", task, "calibration", plays) for plays in searched)
    [own] = host.do(Evaluation(task, (None,), (seeds,))).outcome
    result = likely_best(best, median, score_rows("base", task, "calibration", own))
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


def test_the_papers_own_games_are_marked_and_searched() -> None:
    ill = {entry.name: entry for entry in entries() if entry.ill_posed}
    assert set(ill) == {"example_16_paradoxical", "remark_29_unlikely_text"}
    for entry in ill.values():
        program = parse(entry.text, entry.dialect)
        assert all(surprise_writers(program, role) for role in learning_roles(program))
