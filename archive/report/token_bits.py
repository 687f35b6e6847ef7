"""Bits for each token of the best plays.

A finished run has archived them (table ``scored_texts``). For other plays the archived moves are
played again before the run's judge: a game is a function of its map, its moves and the judge; a
replay counts only if its score is the archived one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from archive.errors import ArchiveError, LookupFailedError
from archive.report.contents import BestPlay, GameFacts, ScoredText, Token
from archive.run import Run, read_settings, stored_game
from archive.schema import TaskId
from archive.text import listed
from xgl import Cast, Game, Instance, Seeds, XGLError, analyse, play_all
from xgl.cli.narration import Narrator, PaidReward, Term, WatchedMachine
from xgl.players import FixedMovesPlayer
from xgl.runtime.presentation import token_spans
from xgl.runtime.requests import Judge, StoryRequest

if TYPE_CHECKING:
    from archive.report.from_archive import RunReport

CLOSE = 0.02
"""Largest difference between the score of a replay and the archived one, relative or in bits."""
ScoredTexts = Mapping[tuple[TaskId, str, int, int], tuple[ScoredText, ...]]
"""The texts that the rewards of a play scored, by task, policy and seeds."""


def with_token_bits(
    report: RunReport, run: Run, *, ask_judge: bool = True, judge: str | None = None
) -> RunReport:
    """The report with the bits of each token of its best plays: those that the archive holds, and
    from the run's judge those that it lacks. ``judge``: its reference, if the user names it.

    Raises LookupFailedError if the judge is needed and does not load, or only a stranger names it.
    """
    scored_texts = read_scored_texts(run)
    games = tuple(_add_archived(facts, scored_texts) for facts in report.games)
    report = replace(report, games=games)
    if not ask_judge or not any(_lacks_bits(facts) for facts in games):
        return report
    settings = read_settings(report.run.config_json).get("judge")
    reference = settings.get("model") if isinstance(settings, Mapping) else None
    if not isinstance(reference, str):
        return _skip_bits(report, "the run's configuration names no judge")
    if refusal := run.judge_refusal(reference, judge, "--no-judge"):
        raise LookupFailedError(refusal)
    scorer = _judge(reference, str(settings.get("dtype", "auto")))  # type: ignore[union-attr]
    completed_games = (
        game_with_bits(facts, scorer) if _lacks_bits(facts) else facts for facts in games
    )
    return replace(report, games=tuple(completed_games))


def _add_archived(facts: GameFacts, scored_texts: ScoredTexts) -> GameFacts:
    """The game with what the archive holds of its plays, or why no judge can say more."""
    plays = tuple(
        replace(play, terms=scored_texts.get(_key(facts.task_id, play), ())) for play in facts.plays
    )
    facts = replace(facts, plays=plays)
    if all(play.terms for play in plays):
        return facts
    return replace(facts, no_bits=_replay_obstacle(facts))


def _lacks_bits(facts: GameFacts) -> bool:
    """Whether the judge may give bits that the archive does not hold."""
    return not facts.no_bits and not all(play.terms for play in facts.plays)


def _replay_obstacle(facts: GameFacts) -> str:
    """Why the plays of a game cannot be repeated, whoever judges; empty if they can."""
    try:
        whole = _game(facts)
    except ArchiveError as error:
        return _replay_error(error)
    return unarchived_moves(whole, facts.task_id.role)


def unarchived_moves(whole: Game, role: str) -> str:
    """Why the archive does not hold all moves of a play of ``role``; empty if it does."""
    others = [name for name in analyse(whole.program).players if name != role]
    if not others:
        return ""
    return f"{listed(others)} moved too, and the archive holds the main player's moves"


def _replay_error(error: Exception) -> str:
    return f"the plays could not be repeated: {error}"


def _game(facts: GameFacts) -> Game:
    row = {"game_id": facts.task_id.game_id, "code": facts.code, "dialect": facts.dialect}
    return stored_game(row | {"metadata_json": facts.metadata_json})


def _skip_bits(report: RunReport, reason: str) -> RunReport:
    games = (
        replace(facts, no_bits=reason) if _lacks_bits(facts) else facts for facts in report.games
    )
    return replace(report, games=tuple(games))


def _judge(reference: str, dtype: str) -> Judge:
    """The run's judge."""
    try:
        from xgl.judge.loading import load_judge

        return load_judge(reference, dtype=dtype)
    except (ImportError, XGLError, AttributeError) as error:
        raise _judge_error(error) from error


def _judge_error(error: Exception) -> LookupFailedError:
    return LookupFailedError(f"the run's judge does not load ({error}); expected it, or --no-judge")


def game_with_bits(facts: GameFacts, judge: Judge) -> GameFacts:
    """The game with the terms of its best plays, or the reason why there are none."""
    try:
        plays = replayed_plays(_game(facts), facts.task_id.role, facts.plays, judge)
    except (ArchiveError, XGLError, ValueError, TypeError) as error:
        return replace(facts, no_bits=_replay_error(error))
    unsure = any(not play.terms for play in plays)
    reason = "the replay did not come to the archived score" if unsure else ""
    return replace(facts, plays=plays, no_bits=reason)


# -- the archive's rows ------------------------------------------------------------------------


def read_scored_texts(run: Run) -> ScoredTexts:
    """The scored texts that a run has archived of its best plays."""
    scored_texts: dict[tuple[TaskId, str, int, int], list[tuple[int, ScoredText]]] = {}
    for row in run.rows("scored_texts"):
        key = (TaskId.of(row), row["policy_id"], row["map_seed"], row["play_seed"])
        bits = [None] * (len(row["tokens"]) - len(row["token_bits"])) + row["token_bits"]
        tokens = tuple(map(Token, row["tokens"], bits))
        text = ScoredText(row["expression"], sum(row["token_bits"]), tokens)
        scored_texts.setdefault(key, []).append((row["place"], text))
    return {
        key: tuple(text for _, text in sorted(texts, key=lambda each: each[0]))
        for key, texts in scored_texts.items()
    }


def is_archived(scored_texts: ScoredTexts, task_id: TaskId, play: BestPlay) -> bool:
    """Whether rows say what the rewards of a play scored."""
    return _key(task_id, play) in scored_texts


def scored_text_rows(task_id: TaskId, play: BestPlay) -> list[dict[str, Any]]:
    """Rows of ``scored_texts`` of one play."""
    return [
        {
            "policy_id": play.policy_id,
            "game_id": task_id.game_id,
            "role": task_id.role,
            "map_seed": play.map_seed,
            "play_seed": play.play_seed,
            "place": index,
            "expression": term.expression,
            "tokens": [token.text for token in term.tokens],
            "token_bits": [token.bits for token in term.tokens if token.bits is not None],
        }
        for index, term in enumerate(play.terms)
    ]


def _key(task_id: TaskId, play: BestPlay) -> tuple[TaskId, str, int, int]:
    return (task_id, play.policy_id, play.map_seed, play.play_seed)


# -- a replay ----------------------------------------------------------------------------------


def replayed_plays(
    whole: Game, role: str, plays: Sequence[BestPlay], judge: Judge
) -> tuple[BestPlay, ...]:
    """The plays, which are on different maps, with their terms; without them where the score is
    another. Raises XGLError and ValueError if a play cannot be repeated."""
    seeds = [Seeds(play.map_seed, play.play_seed) for play in plays]
    moves = {seed: play.moves or ("",) for seed, play in zip(seeds, plays, strict=True)}
    stories = _ArchivedStories({play.map_seed: play.texts for play in plays})
    machines = [WatchedMachine(whole) for _ in plays]
    cast = Cast(judge, stories, {role: FixedMovesPlayer(moves)})
    results = play_all([Instance(whole, seed) for seed in seeds], cast, machines)
    return tuple(
        replace(play, terms=tuple(_terms(machine, whole, role, judge)))
        if abs(result.scores.get(role, 0.0) - play.score) <= CLOSE * (1 + abs(play.score))
        else play
        for play, machine, result in zip(plays, machines, results, strict=True)
    )


def _terms(machine: WatchedMachine, whole: Game, role: str, judge: Judge) -> Iterator[ScoredText]:
    for notice in Narrator(whole, role).notices(machine.log()):
        if isinstance(notice, PaidReward) and notice.player == role:
            yield from (_scored_text(term, judge) for term in notice.terms)


def _scored_text(term: Term, judge: Judge) -> ScoredText:
    if term.text is None:
        tokens = [Token(f"#{number}", bit) for number, bit in enumerate(term.bits, start=1)]
    else:
        tokens = list(_tokens(term.text, term.bits, judge))
    return ScoredText(term.label, sum(term.bits), tuple(tokens))


def _tokens(text: str, bits: tuple[float, ...], judge: Judge) -> Iterator[Token]:
    parts = token_spans(judge, text, len(bits))
    unscored_count = len(parts) - len(bits)
    for index, part in enumerate(parts):
        yield Token(part, None if index < unscored_count else bits[index - unscored_count])


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
