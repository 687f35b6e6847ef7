"""The games that a run keeps, for somebody who sees them for the first time: the rules in plain
English, why each was kept, and one play beside the untrained player's and a script's."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from archive.query import (
    ScopeRow,
    games,
    map_texts,
    newest_scope,
    replicates,
    run_config,
    story_texts,
)
from archive.schema import BASE_POLICY, SCRIPT_POLICY, Definition, PlaysKey, TaskId, Verdict
from archive.statistics.intervals import Interval, Scores, mean_interval
from archive.statistics.plays import PURPOSES, SCORE_COLUMNS, Plays, plays_of, policies_of
from archive.statistics.scripts import SHOWN_CONFIDENCE, ScriptComparison, shown_comparison
from archive.statistics.second_judge import Survival, read_survivals
from archive.statistics.transfer_values import gains
from archive.store.archive import Archive
from archive.views.tables import counted, shown, visible
from xgl import Metadata, XGLError, game, parse
from xgl.analysis.plain_english import in_words

FULL = 6
"""New games that are shown with a play; of the others each has two lines."""
SHORT = 8
LETTERS = 110
"""Of a story that are shown."""
Row = Mapping[str, Any]
_PLAY_COLUMNS = (
    *("policy_id", "game_id", "role", "purpose", "map_seed", "play_seed"),
    *("moves", "score"),
)
_PlaysMade = defaultdict[tuple[TaskId, tuple[int, int, str]], dict[str, Row]]
"""By task and by map seed, play seed and purpose: the plays by policy."""


@dataclass(frozen=True)
class Attempt:
    """What one player wrote on the map, and its score in bits."""

    player: str
    moves: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class KeptGame:
    """One game of a scope. ``rules``: one sentence for each instruction. ``decision``: the row that
    accepted it, None of an initial game. ``total`` and ``specific``: its own fine-tune's gains with
    95 % intervals, bits a play. ``texts`` and ``attempts``: one play, the one whose gain is the
    median, so that it flatters nobody."""

    member: ScopeRow
    rules: tuple[str, ...]
    decision: Row | None
    total: Interval | None
    specific: Interval | None
    scripts: ScriptComparison | None
    texts: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    survivals: tuple[Survival, ...] = ()
    """Under judges that did not play (judge.second)."""


def gather(archive: Archive, run_id: str) -> list[KeptGame]:
    """The newest scope of a run, in its order. Raises LookupFailedError without any."""
    members = newest_scope(archive, run_id)[1]
    rows = games(archive, (member.game_id for member in members))
    reader = _Reader(archive, run_id, members)
    picked = {member.task_id: reader.typical_map(member.task_id) for member in members}
    shown = {seeds[0] for seeds in picked.values() if seeds}
    texts, made = map_texts(archive, shown), reader.plays_on(shown)
    survivals = read_survivals(archive, run_id)
    return [
        KeptGame(
            member,
            _rules(rows[member.game_id], member.role),
            reader.accepted.get(member.task_id),
            *reader.own_gains(member.task_id),
            reader.scripts(member.task_id),
            story_texts(rows[member.game_id], texts.get(seeds[0], {})) if seeds else (),
            reader.attempts(member.task_id, made[member.task_id, seeds]) if seeds else (),
            tuple(each for each in survivals if each.task_id == member.task_id),
        )
        for member, seeds in zip(members, picked.values(), strict=True)
    ]


def _rules(row: Row, role: str) -> tuple[str, ...]:
    """The rules in words; the program where this version cannot read it."""
    try:
        metadata = Metadata(**json.loads(row["metadata_json"]))
        return in_words(game(parse(row["code"], row["dialect"]), metadata), role)
    except (XGLError, ValueError, TypeError, KeyError):
        return tuple(line for line in str(row["code"]).split("\n") if line)


class _Reader:
    """Reads what the games of one scope were played for."""

    def __init__(self, archive: Archive, run_id: str, members: Sequence[ScopeRow]) -> None:
        self.archive = archive
        ids = list({member.game_id for member in members})
        mine = ("run_id", "=", run_id)
        self.its = [mine, ("game_id", "in", ids)]
        made = archive.rows("finetunes", ["finetune_id", "game_id", "role"], self.its)
        self.policies = policies_of(made, replicates(run_config(archive, run_id)))
        own = [policy_id for several in self.policies.values() for policy_id in several]
        scores = archive.table(
            "scores", list(SCORE_COLUMNS), [*self.its, ("purpose", "in", PURPOSES)]
        )
        known = {BASE_POLICY, *own}
        self.plays = {
            key: sample
            for key, sample in plays_of(scores).items()
            if key.policy_id in known or key.scripted
        }
        decisions = archive.rows(
            "decisions", filters=[*self.its, ("verdict", "=", str(Verdict.ACCEPTED))]
        )
        self.accepted = {TaskId.of(row): row for row in decisions}

    def scripts(self, task_id: TaskId) -> ScriptComparison | None:
        """The game's fine-tune beside the scripts."""
        return shown_comparison(self.plays, self.policies.get(task_id, ()), task_id)

    def own_gains(self, task_id: TaskId) -> tuple[Interval | None, Interval | None]:
        """Total and specific, of the first fine-tune that speaks for the game."""
        pair = self._pair(task_id)
        if pair is None:
            return None, None
        base, own = pair
        level = 2 * SHOWN_CONFIDENCE - 1
        specific = own.own - own.permuted_scores - (base.own - base.permuted_scores)
        return mean_interval(gains(own, base), level), mean_interval(specific, level)

    def typical_map(self, task_id: TaskId) -> tuple[int, int, str] | None:
        """Map seed, play seed and purpose of the play whose gain is the median, among those that
        the best script has made too."""
        pair, purpose = self._pair(task_id), self._purpose(task_id)
        if pair is None:
            return None
        base, own = pair
        order = np.argsort(gains(own, base), kind="stable")
        place = int(order[len(order) // 2])
        return int(base.seeds[place, 0]), int(base.seeds[place, 1]), purpose

    def plays_on(self, maps: Collection[int]) -> _PlaysMade:
        """All plays on some maps, read at once."""
        filters = [*self.its, ("map_seed", "in", sorted(maps))]
        made: _PlaysMade = defaultdict(dict)
        for row in self.archive.rows("scores", _PLAY_COLUMNS, filters) if maps else ():
            place = row["map_seed"], row["play_seed"], row["purpose"]
            made[TaskId.of(row), place][row["policy_id"]] = row
        return made

    def attempts(self, task_id: TaskId, made: Mapping[str, Row]) -> tuple[Attempt, ...]:
        """The fine-tuned player's, the base player's and the best script's play among those of one
        map, by policy."""
        scripts = self.scripts(task_id)
        names = {self.policies[task_id][0]: "trained", BASE_POLICY: "untrained"}
        if scripts:
            names[scripts.best] = scripts.best
        return tuple(
            Attempt(name, tuple(made[policy]["moves"]), made[policy]["score"])
            for policy, name in names.items()
            if policy in made
        )

    def _purpose(self, task_id: TaskId) -> str:
        """The plays that are shown: those that scripts made too, acceptance before selection."""
        own = self.policies.get(task_id, ("",))[0]
        there = [each for each in PURPOSES if PlaysKey(own, task_id, each) in self.plays]
        scripted = {key.purpose for key in self.plays if key.scripted and key.task_id == task_id}
        return next((each for each in there if each in scripted), (*there, PURPOSES[-1])[0])

    def _pair(self, task_id: TaskId) -> tuple[Plays, Plays] | None:
        """The base player's and the own fine-tune's plays on maps that both, and the scripts where
        these have played, have in common; None with fewer than two."""
        purpose, own = self._purpose(task_id), self.policies.get(task_id, ("",))[0]
        wanted = [PlaysKey(each, task_id, purpose) for each in (BASE_POLICY, own)]
        scripted = [key for key in self.plays if key.scripted and key[1:] == (task_id, purpose)]
        samples = [self.plays[key] for key in (*wanted, *scripted[:1]) if key in self.plays]
        if any(key not in self.plays for key in wanted):
            return None
        common = set.intersection(*(set(map(tuple, each.seeds.tolist())) for each in samples))
        base, tuned = (_only(self.plays[key], common) for key in wanted)
        return (base, tuned) if len(common) > 1 else None


def _only(sample: Plays, seeds: set[tuple[int, ...]]) -> Plays:
    kept: Scores = np.array([tuple(pair) in seeds for pair in sample.seeds.tolist()], bool)
    return Plays(sample.seeds[kept], sample.own[kept], sample.permuted_scores[kept])


# -- for people ------------------------------------------------------------------------------------


def show(kept: Sequence[KeptGame], console: Console, run: str) -> None:
    """New games first, then those that the run began with; ``run``: how a command names it."""
    new = [each for each in kept if each.member.parent_game_id is not None]
    initial = [each for each in kept if each.member.parent_game_id is None]
    begun = f"beside {counted(len(initial), 'game')} that the run began with"
    found = counted(len(new), "new game") if new else "no new game"
    console.print(Text(f"\nKept: {found}, {begun}", style="bold"))
    for place, each in enumerate([*new, *initial]):
        console.print()
        _line(console, _title(each), 2, style="bold")
        for line in _facts(each, full=place < FULL or each in initial):
            _line(console, line, 4)
        _line(console, f"more       python -m archive show {run} {each.member.game_id[:SHORT]}", 4)


def _line(console: Console, text: str, margin: int, style: str = "") -> None:
    line = shown(text)
    line.stylize(style)
    console.print(Padding(line, (0, 0, 0, margin)), soft_wrap=False)


def _title(kept: KeptGame) -> str:
    member = kept.member
    origin = "the run began with it"
    if member.parent_game_id is not None:
        origin = f"generation {member.accepted_in}, found from {member.parent_game_id[:SHORT]}"
    return f"{member.game_id[:SHORT]}: {origin}"


def _facts(kept: KeptGame, full: bool) -> list[str]:
    lines = [" ".join(kept.rules)] if full else [kept.rules[-1]]
    if kept.decision is not None:
        lines.append(f"kept       {why(kept.decision)}")
    if kept.total and kept.specific and kept.total.value is not None:
        about = f"{_signed(kept.specific.value)} about the map"
        lines.append(f"learned    training gains {_bits(kept.total)} a play, {about}")
    if kept.scripts:
        lines.append(f"scripts    {beside_scripts(kept.scripts)}")
    lines += [f"judged     {under_another(each)}" for each in kept.survivals]
    return lines + (_play(kept) if full and kept.attempts else [])


def why(decision: Row) -> str:
    """Why a game was kept, in one sentence."""
    column = Definition(decision["definition"]).column
    value, low = decision[column], decision[f"{column}_low"]
    helps = f"training on it gives {_share(value)} of what training on its parent gives there"
    gamma, high = decision["gamma"], decision["gamma_high"]
    new = f"a known game gives {_share(gamma)} at most of what training on it gives"
    bounds = (
        f"(surely {_share(low)} or more, {_share(decision['alpha1'])} is asked)",
        f"(surely no more than {_share(high)}, {_share(1 - decision['alpha2'])} is allowed)",
    )
    return f"{helps} {bounds[0]}; {new} {bounds[1]}"


def beside_scripts(scripts: ScriptComparison) -> str:
    """What the best script gains, and how far the fine-tune is beyond every one."""
    name = scripts.best.removeprefix(SCRIPT_POLICY)
    lead, specific = scripts.total, scripts.specific
    return (
        f"the best simple rule, {name}, gains {_signed(scripts.best_gain)} bits; training minus "
        f"the best rule: {_bits(lead)}, {_bits(specific)} about the map"
    )


def under_another(survival: Survival) -> str:
    """What is left of a game's gain under a judge that did not play."""
    share = survival.specific
    left = "an unknown share" if share.value is None else f"{share.value:.0%}"
    bounds = (
        f" [{share.low:.0%}, {share.high:.0%}]" if math.isfinite(share.low + share.high) else ""
    )
    verdict = "it would be accepted again"
    if survival.decision is None:
        verdict = "it would not be accepted on the same plays"
    elif not survival.stays_accepted:
        verdict = f"it would not be accepted ({survival.decision.reason})"
    return f"by {survival.judge}, {left}{bounds} of the gain about the map survives; {verdict}"


def _play(kept: KeptGame) -> list[str]:
    """One map: its texts, and what each player wrote."""
    lines = []
    for place, text in enumerate(kept.texts):
        head = "a play on  " if place == 0 else "           "
        lines.append(f"{head}“{_cut(text)}”")
    width = max(len(_name(each)) for each in kept.attempts)
    for each in kept.attempts:
        moves = ", ".join(f"“{visible(move)}”" for move in each.moves)
        lines.append(f"  {_name(each):{width}}  {each.score:+7.1f} bits  {moves}")
    return lines


def _name(attempt: Attempt) -> str:
    name = attempt.player
    return f"rule {name.removeprefix(SCRIPT_POLICY)}" if name.startswith(SCRIPT_POLICY) else name


def _cut(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LETTERS else f"{plain[:LETTERS].rstrip()}…"


def _share(value: float | None) -> str:
    return "an unknown share" if value is None else f"{value:.0%}"


def _signed(value: float | None) -> str:
    return "?" if value is None else f"{value:+.1f}"


def _bits(interval: Interval) -> str:
    return f"{_signed(interval.value)} bits [{interval.low:.1f}, {interval.high:.1f}]"
