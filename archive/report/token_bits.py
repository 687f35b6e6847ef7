"""Bits for each token of the best plays: the archived moves played again before the run's judge.

An archive holds moves and scores, not the bits of single tokens. A game is a function of its map,
its moves and the judge, so they can be had again; a replay counts only where it comes to the
archived score.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from archive.errors import LookupFailedError
from archive.report.contents import BestPlay, GameFacts, ScoredText, Token
from archive.report.from_archive import RunReport
from archive.report.wording import listed
from xgl import Cast, Game, Instance, Metadata, Seeds, XGLError, analyse, game, parse, play_all
from xgl.cli.narration import Narrator, PaidReward, Term, WatchedMachine
from xgl.players import ScriptedPlayer
from xgl.runtime.presentation import token_spans
from xgl.runtime.requests import Judge, StoryRequest

CLOSE = 0.02
"""Relative difference up to which a replay comes to the archived score; and as many bits."""


def with_token_bits(report: RunReport) -> RunReport:
    """The report with the bits of each token of its best plays.

    Raises LookupFailedError where the run's judge does not load.
    """
    settings = report.run.config.get("judge")
    reference = settings.get("model") if isinstance(settings, Mapping) else None
    if not any(facts.plays for facts in report.games):
        return report
    if not isinstance(reference, str):
        return _without(report, "the run's configuration names no judge")
    judge = _judge(reference, str(settings.get("dtype", "auto")))  # type: ignore[union-attr]
    return replace(report, games=tuple(game_with_bits(facts, judge) for facts in report.games))


def _without(report: RunReport, reason: str) -> RunReport:
    return replace(report, games=tuple(replace(facts, no_bits=reason) for facts in report.games))


def _judge(reference: str, dtype: str) -> Judge:
    """The run's judge."""
    try:
        from xgl.judge.load import load_judge

        return load_judge(reference, dtype=dtype)
    except (ImportError, XGLError, AttributeError) as error:
        raise _no_judge(error) from error


def _no_judge(error: Exception) -> LookupFailedError:
    return LookupFailedError(f"the run's judge does not load ({error}); expected it, or --no-judge")


def game_with_bits(facts: GameFacts, judge: Judge) -> GameFacts:
    """The game with the terms of its best plays, or the reason why there are none."""
    if not facts.plays:
        return facts
    try:
        whole = game(parse(facts.code, facts.dialect), Metadata(**json.loads(facts.metadata_json)))
        others = [name for name in analyse(whole.program).players if name != facts.task_id.role]
        if others:
            reason = f"{listed(others)} moved too, and the archive holds the main player's moves"
            return replace(facts, no_bits=reason)
        plays = tuple(_replayed(whole, facts.task_id.role, facts.plays, judge))
    except (XGLError, ValueError, TypeError) as error:
        return replace(facts, no_bits=f"the plays could not be repeated: {error}")
    unsure = any(not play.terms for play in plays)
    reason = "the replay did not come to the archived score" if unsure else ""
    return replace(facts, plays=plays, no_bits=reason)


def _replayed(
    whole: Game, role: str, plays: Sequence[BestPlay], judge: Judge
) -> Iterator[BestPlay]:
    """The plays, which are on different maps, with their terms; without them where the score is
    another."""
    seeds = [Seeds(play.map_seed, play.play_seed) for play in plays]
    moves = {seed: play.moves or ("",) for seed, play in zip(seeds, plays, strict=True)}
    stories = _ArchivedStories({play.map_seed: play.texts for play in plays})
    machines = [WatchedMachine(whole) for _ in plays]
    cast = Cast(judge, stories, {role: ScriptedPlayer(moves)})
    results = play_all([Instance(whole, seed) for seed in seeds], cast, machines)
    for play, machine, result in zip(plays, machines, results, strict=True):
        difference = abs(result.scores.get(role, 0.0) - play.score)
        if difference > CLOSE * (1 + abs(play.score)):
            yield play
            continue
        notices = Narrator(whole, role).notices(machine.log())
        paid = [each for each in notices if isinstance(each, PaidReward) and each.player == role]
        terms = tuple(_scored(term, judge) for each in paid for term in each.terms)
        yield replace(play, terms=terms)


def _scored(term: Term, judge: Judge) -> ScoredText:
    if term.text is None:
        tokens = [Token(f"#{place}", bit) for place, bit in enumerate(term.bits, start=1)]
    else:
        tokens = list(_tokens(term.text, term.bits, judge))
    return ScoredText(term.label, sum(term.bits), tuple(tokens))


def _tokens(text: str, bits: tuple[float, ...], judge: Judge) -> Iterator[Token]:
    parts = token_spans(judge, text, len(bits))
    unscored = len(parts) - len(bits)
    for place, part in enumerate(parts):
        yield Token(part, None if place < unscored else bits[place - unscored])


class _ArchivedStories:
    """A story source that answers with the archived texts of the map."""

    def __init__(self, texts: Mapping[int, tuple[str, ...]]) -> None:
        self.texts = texts

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        return [self._text(map_seed, request.site) for map_seed, request in requests]

    def _text(self, map_seed: int, site: int) -> str:
        if site >= len(self.texts[map_seed]):
            raise ValueError(f"the archive holds no text for story {site + 1} of a map")
        return self.texts[map_seed][site]
