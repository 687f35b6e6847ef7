"""The games that a run keeps, for a reader who sees them for the first time: the rules in plain
English, why each was kept, and one play next to the untrained player's and a script's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from archive.errors import DamagedError
from archive.plays import PURPOSES, Plays, on_common_seeds
from archive.run import Run, stored_game, story_texts
from archive.schema import BASE_POLICY, SCRIPT_POLICY, Definition, PlaysKey, ScopeRow, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.rule import OwnGain
from archive.statistics.scripts import ScriptComparison, beside_scripts, own_gain
from archive.statistics.second_judge import Survival, read_survivals
from archive.statistics.values import gains
from archive.text import interval, percent, plural, signed
from archive.views.tables import SHORT, plain_text
from xgl.analysis.plain_english import in_words
from xgl.escaping import visible

FULL = 6
"""New games that are shown with a play; the others have two lines each."""
LETTERS = 110
"""Most characters of a story that are shown."""
Row = Mapping[str, Any]
_PLAY_COLUMNS = (
    *("policy_id", "game_id", "role", "purpose", "map_seed", "play_seed"),
    *("moves", "score"),
)
_PlaysByPolicy = defaultdict[tuple[TaskId, tuple[int, int, str]], dict[str, Row]]
"""The plays by policy, for each task and each map seed, play seed and purpose."""


@dataclass(frozen=True)
class ShownPlay:
    """What one player wrote on the map, and its score in bits."""

    player: str
    moves: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class KeptGame:
    """One game of a scope. ``title``: what it pays for. ``rules``: one sentence for each
    instruction. ``decision``: the row that accepted it, None of an initial game. ``own``: gains of
    its own fine-tune. ``texts`` and ``attempts``: one play, the one whose gain is the median, so
    that it is typical."""

    member: ScopeRow
    title: str
    rules: tuple[str, ...]
    decision: Row | None
    own: OwnGain
    scripts: ScriptComparison | None
    texts: tuple[str, ...]
    attempts: tuple[ShownPlay, ...]
    survivals: tuple[Survival, ...] = ()
    """Decisions repeated under judges that did not play (judge.second)."""


def gather(run: Run) -> list[KeptGame]:
    """The newest scope of a run, in its order. Raises LookupFailedError without any."""
    members = run.newest_scope[1]
    rows = run.games(member.game_id for member in members)
    reader = _Reader(run, members)
    seeds_by_task = {member.task_id: reader.typical_map(member.task_id) for member in members}
    map_seeds = {seeds[0] for seeds in seeds_by_task.values() if seeds}
    texts, plays = run.map_texts(map_seeds), reader.plays_on(map_seeds)
    survivals = read_survivals(run)
    return [
        KeptGame(
            member,
            run.titles.get(member.task_id, ""),
            _rules(rows[member.game_id], member.role),
            run.accepted.get(member.task_id),
            own_gain(run, member.task_id),
            beside_scripts(run, member.task_id),
            story_texts(rows[member.game_id], texts.get(seeds[0], {})) if seeds else (),
            reader.attempts(member.task_id, plays[member.task_id, seeds]) if seeds else (),
            tuple(survival for survival in survivals if survival.task_id == member.task_id),
        )
        for member, seeds in zip(members, seeds_by_task.values(), strict=True)
    ]


def _rules(row: Row, role: str) -> tuple[str, ...]:
    """The rules in words; the program where this version cannot read it."""
    try:
        return in_words(stored_game(row), role)
    except DamagedError:
        return tuple(line for line in str(row["code"]).split("\n") if line)


class _Reader:
    """Reads what the games of one scope were played for."""

    def __init__(self, run: Run, members: Sequence[ScopeRow]) -> None:
        self.run, self.policies = run, run.policies
        self.its = [("game_id", "in", list({member.game_id for member in members}))]
        own = [policy_id for several in self.policies.values() for policy_id in several]
        known_policies = {BASE_POLICY, *own}
        self.plays = {
            key: sample
            for key, sample in run.plays.items()
            if key.policy_id in known_policies or key.scripted
        }

    def typical_map(self, task_id: TaskId) -> tuple[int, int, str] | None:
        """Map seed, play seed and purpose of the play whose gain is the median, among those that
        the best script has made too."""
        pair, purpose = self._pair(task_id), self._purpose(task_id)
        if pair is None:
            return None
        base, own = pair
        order = np.argsort(gains(own, base), kind="stable")
        index = int(order[len(order) // 2])
        return int(base.seeds[index, 0]), int(base.seeds[index, 1]), purpose

    def plays_on(self, maps: Collection[int]) -> _PlaysByPolicy:
        """All plays on some maps, read at once."""
        filters = [*self.its, ("map_seed", "in", sorted(maps))]
        plays: _PlaysByPolicy = defaultdict(dict)
        for row in self.run.rows("scores", _PLAY_COLUMNS, filters) if maps else ():
            seeds = row["map_seed"], row["play_seed"], row["purpose"]
            plays[TaskId.of(row), seeds][row["policy_id"]] = row
        return plays

    def attempts(self, task_id: TaskId, plays: Mapping[str, Row]) -> tuple[ShownPlay, ...]:
        """The fine-tuned player's, the base player's and the best script's play among those of one
        map, by policy."""
        scripts = beside_scripts(self.run, task_id)
        names = {self.policies[task_id][0]: "trained", BASE_POLICY: "untrained"}
        if scripts:
            names[scripts.best] = scripts.best
        return tuple(
            ShownPlay(name, tuple(plays[policy]["moves"]), plays[policy]["score"])
            for policy, name in names.items()
            if policy in plays
        )

    def _purpose(self, task_id: TaskId) -> str:
        """The plays that are shown: those that scripts made too, acceptance before selection."""
        own = self.policies.get(task_id, ("",))[0]
        there = [purpose for purpose in PURPOSES if PlaysKey(own, task_id, purpose) in self.plays]
        script_purposes = {
            key.purpose for key in self.plays if key.scripted and key.task_id == task_id
        }
        common = [purpose for purpose in there if purpose in script_purposes]
        return (*common, *there, PURPOSES[-1])[0]

    def _pair(self, task_id: TaskId) -> tuple[Plays, Plays] | None:
        """The base player's and the own fine-tune's plays on maps that both, and the scripts where
        these have played, have in common; None with fewer than two."""
        purpose, own = self._purpose(task_id), self.policies.get(task_id, ("",))[0]
        pair_keys = [PlaysKey(policy, task_id, purpose) for policy in (BASE_POLICY, own)]
        script_keys = [key for key in self.plays if key.scripted and key[1:] == (task_id, purpose)]
        if any(key not in self.plays for key in pair_keys):
            return None
        samples = [self.plays[key] for key in (*pair_keys, *script_keys[:1])]
        base_plays, own_plays, *_ = on_common_seeds(samples)
        return (base_plays, own_plays) if len(base_plays.own) > 1 else None


# -- for people ------------------------------------------------------------------------------------


def show(kept_games: Sequence[KeptGame], console: Console, run: str) -> None:
    """New games first, then those that the run began with; ``run``: how a command names it."""
    new = [kept_game for kept_game in kept_games if kept_game.member.parent_game_id is not None]
    initial = [kept_game for kept_game in kept_games if kept_game.member.parent_game_id is None]
    initial_text = f"beside {plural(len(initial), 'game')} that the run began with"
    new_text = plural(len(new), "new game") if new else "no new game"
    console.print(Text(f"\nKept: {new_text}, {initial_text}", style="bold"))
    for index, kept_game in enumerate([*new, *initial]):
        console.print()
        _line(console, _title(kept_game), 2, style="bold")
        for line in _facts(kept_game, full=index < FULL or kept_game in initial):
            _line(console, line, 4)
        short_id = kept_game.member.game_id[:SHORT]
        command = f"    more       python -m archive show {run} {short_id}"
        console.print(plain_text(command), soft_wrap=True)  # a broken line could not be pasted


def _line(console: Console, text: str, margin: int, style: str = "") -> None:
    line = plain_text(text)
    line.stylize(style)
    console.print(Padding(line, (0, 0, 0, margin)), soft_wrap=False)


def _title(kept_game: KeptGame) -> str:
    member = kept_game.member
    origin = "the run began with it"
    if member.parent_game_id is not None:
        origin = f"generation {member.generation}, found from {member.parent_game_id[:SHORT]}"
    return f"{kept_game.title} ({member.task_id.label}): {origin}".lstrip()


def _facts(kept_game: KeptGame, full: bool) -> list[str]:
    lines = [" ".join(kept_game.rules)] if full else [kept_game.rules[-1]]
    if kept_game.decision is not None:
        lines.append(f"kept       {decision_text(kept_game.decision)}")
    if kept_game.own.total.value is not None:
        about = f"{signed(kept_game.own.specific.value)} about the map (lost on other texts)"
        lines.append(f"learned    training gains {_bits(kept_game.own.total)} a play, {about}")
    if kept_game.scripts:
        lines.append(f"scripts    {script_text(kept_game.scripts)}")
    lines += [f"judged     {survival_text(survival)}" for survival in kept_game.survivals]
    return lines + (_play(kept_game) if full and kept_game.attempts else [])


def decision_text(decision: Row) -> str:
    """Why a game was kept, in one sentence."""
    column = Definition(decision["definition"]).column
    value, low = decision[column], decision[f"{column}_low"]
    helps = f"training on it gives {_share(value)} of what training on its parent gives there"
    gamma, high = decision["gamma"], decision["gamma_high"]
    new = f"a known game gives {_share(gamma)} at most of what training on it gives"
    bounds = (
        f"(surely {_share(low)} or more, {_share(decision['alpha1'])} is required)",
        f"(surely no more than {_share(high)}, {_share(1 - decision['alpha2'])} is allowed)",
    )
    return f"{helps} {bounds[0]}; {new} {bounds[1]}"


def script_text(scripts: ScriptComparison) -> str:
    """What the best script gains, and how far the fine-tune is beyond every one."""
    name = scripts.best.removeprefix(SCRIPT_POLICY)
    lead, specific = scripts.total, scripts.specific
    return (
        f"the best fixed rule, {name}, gains {signed(scripts.best_gain)} bits; training minus "
        f"the best rule: {_bits(lead)}, {_bits(specific)} about the map"
    )


def survival_text(survival: Survival) -> str:
    """The share of a game's gain that survives under a judge that did not play."""
    share = survival.specific
    survives = _share(share.value) if share.value is None else interval(share, percent)
    verdict = "it would be accepted again"
    if survival.decision is None:
        verdict = "it would not be accepted on the same plays"
    elif not survival.stays_accepted:
        verdict = f"it would not be accepted ({survival.decision.reason})"
    return f"by {survival.judge}, {survives} of the gain about the map survives; {verdict}"


def _play(kept_game: KeptGame) -> list[str]:
    """One map: its texts, and what each player wrote."""
    lines = []
    for index, text in enumerate(kept_game.texts):
        head = "a play on  " if index == 0 else "           "
        lines.append(f"{head}“{_shorten(text)}”")
    width = max(len(_name(attempt)) for attempt in kept_game.attempts)
    for attempt in kept_game.attempts:
        moves = ", ".join(f"“{visible(move)}”" for move in attempt.moves)
        lines.append(f"  {_name(attempt):{width}}  {signed(attempt.score):>7} bits  {moves}")
    return lines


def _name(attempt: ShownPlay) -> str:
    name = attempt.player
    return f"rule {name.removeprefix(SCRIPT_POLICY)}" if name.startswith(SCRIPT_POLICY) else name


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= LETTERS else f"{plain[:LETTERS].rstrip()}…"


def _share(value: float | None) -> str:
    return "an unknown share" if value is None else percent(value)


def _bits(gain: Interval) -> str:
    return interval(gain, signed).replace(" [", " bits [")
