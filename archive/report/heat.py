"""Bits for each token of the best plays: the archived moves played again before the run's judge.

An archive holds moves and scores, not the bits of single tokens. A game is a function of its map,
its moves and the judge, so they can be had again; a replay counts only where it comes to the
archived score.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from archive.errors import LookupFailedError
from archive.report.facts import BestPlay, GameFacts, ScoredText, Token
from archive.report.gathering import Report
from archive.report.words import listed
from xgl import Cast, Game, Instance, Metadata, Seeds, XGLError, analyse, game, parse, play_all
from xgl.cli.telling import Paid, Teller, Term
from xgl.cli.watching import WatchedMachine
from xgl.players import ScriptedPlayer
from xgl.runtime.presentation import token_spans
from xgl.runtime.requests import Judge, StoryRequest

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge

CLOSE = 0.02
"""Relative difference up to which a replay comes to the archived score; and as many bits."""


def with_heat(report: Report) -> Report:
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
    return replace(report, games=tuple(heated(facts, judge) for facts in report.games))


def _without(report: Report, reason: str) -> Report:
    return replace(report, games=tuple(replace(facts, no_heat=reason) for facts in report.games))


def _judge(reference: str, dtype: str) -> TransformerJudge:
    try:
        import torch

        from xgl.judge.transformer_judge import TransformerJudge
        from xgl.lm.language_model import LanguageModel
        from xgl.models import resolve

        model, tokenizer = resolve.load(reference, dtype=dtype)
        return TransformerJudge(LanguageModel(model, tokenizer, torch.device("cpu")))
    except (XGLError, ImportError, AttributeError) as error:
        raise LookupFailedError(
            f"the run's judge does not load ({error}); expected it, or --no-judge"
        ) from error


def heated(facts: GameFacts, judge: Judge) -> GameFacts:
    """The game with the terms of its best plays, or the reason why there are none."""
    if not facts.plays:
        return facts
    try:
        whole = game(parse(facts.code, facts.dialect), Metadata(**json.loads(facts.metadata_json)))
        others = [name for name in analyse(whole.program).players if name != facts.task_id.role]
        if others:
            reason = f"{listed(others)} moved too, and the archive holds the main player's moves"
            return replace(facts, no_heat=reason)
        plays = tuple(_replayed(whole, facts.task_id.role, play, judge) for play in facts.plays)
    except (XGLError, ValueError, TypeError) as error:
        return replace(facts, no_heat=f"the plays could not be repeated: {error}")
    unsure = any(not play.terms for play in plays)
    reason = "the replay did not come to the archived score" if unsure else ""
    return replace(facts, plays=plays, no_heat=reason)


def _replayed(whole: Game, role: str, play: BestPlay, judge: Judge) -> BestPlay:
    """The play with its terms; without them where the score is another."""
    seeds = Seeds(play.map_seed, play.play_seed)
    machine = WatchedMachine(whole)
    seat = ScriptedPlayer({seeds: play.moves or ("",)})
    cast = Cast(judge, _Told(play.texts), {role: seat})
    [done] = play_all([Instance(whole, seeds)], cast, [machine])
    found = done.scores.get(role, 0.0)
    if abs(found - play.score) > CLOSE * (1 + abs(play.score)):
        return play
    told = Teller(whole, role).tell(machine.log())
    paid = [each for each in told if isinstance(each, Paid) and each.player == role]
    return replace(play, terms=tuple(_scored(term, judge) for each in paid for term in each.terms))


def _scored(term: Term, judge: Judge) -> ScoredText:
    if term.text is None:
        tokens = [Token(f"#{place}", bit) for place, bit in enumerate(term.bits, start=1)]
    else:
        tokens = list(_tokens(term.text, term.bits, judge))
    return ScoredText(term.said, sum(term.bits), tuple(tokens))


def _tokens(text: str, bits: tuple[float, ...], judge: Judge) -> Iterator[Token]:
    parts = token_spans(judge, text, len(bits))
    unscored = len(parts) - len(bits)
    for place, part in enumerate(parts):
        yield Token(part, None if place < unscored else bits[place - unscored])


class _Told:
    """A story source that tells the archived texts of one map."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts

    def tell(self, asked: list[tuple[int, StoryRequest]]) -> list[str]:
        return [self._text(request) for _, request in asked]

    def _text(self, request: StoryRequest) -> str:
        if request.site >= len(self.texts):
            raise ValueError(f"the archive holds no text for story {request.site + 1} of a map")
        return self.texts[request.site]
