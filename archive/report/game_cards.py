"""The games of the newest scope: program, family, what was learned, best plays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from archive.errors import DamagedError
from archive.names import library_title, names_by_descent, parents
from archive.plays import Plays
from archive.report.best_plays import best_plays
from archive.report.contents import BestPlay, FineTuning, GameFacts, GameTransfer, RunThresholds
from archive.run import Row, Run, stored_game
from archive.schema import Definition, GainKind, PlaysKey, ScopeRow, TaskId
from archive.statistics.decisions.scripts import ScriptComparison, shown_comparison
from archive.statistics.values.intervals import UNDEFINED, Interval
from archive.statistics.values.transfer_matrix import TransferMatrix, transfer_matrix
from xgl import Game
from xgl.analysis.plain_english import in_words
from xgl.diagram import draw
from xgl.language import syntax as syn
from xgl.language.unparse import expression_text

LESSONS = 3
"""How many of the games that teach, or are taught, most a card names."""


@dataclass(frozen=True)
class CardRows:
    """What the cards are made from, looked up by task."""

    rows: Mapping[str, Row]
    decisions: Mapping[TaskId, Row]
    proposals: Mapping[str, Row]
    finetunes: Mapping[TaskId, Row]
    matrix: TransferMatrix
    means: Mapping[tuple[str, TaskId], float]
    plays: Mapping[TaskId, tuple[BestPlay, ...]]
    scripts: Mapping[TaskId, ScriptComparison | None]
    thresholds: RunThresholds | None


def gather_games(
    run: Run, thresholds: RunThresholds | None
) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = sorted(run.newest_scope[1], key=lambda member: member.accepted_in)
    source = _source(run, members, thresholds)
    readings = [_reading(source.rows[member.game_id]) for member in members]
    titles = [library_title(source.rows[member.game_id]) for member in members]
    cards = _Cards(members, readings, titles, source)
    return tuple(cards.card(place) for place in range(len(members))), source.matrix


def _source(run: Run, members: Sequence[ScopeRow], thresholds: RunThresholds | None) -> CardRows:
    scope = [member.task_id for member in members]
    kind = GainKind.TOTAL if thresholds is None else thresholds.gain_kind
    rows = run.games(member.game_id for member in members)
    columns = ["game_id", "outcome", "sampler", "operators"]
    proposals = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    policies = run.policies
    return CardRows(
        rows=rows,
        decisions={
            TaskId.of(row): row
            for row in run.decisions
            if row["verdict"] == "accepted" or row["parent_game_id"] is None
        },
        proposals={row["game_id"]: row for row in reversed(proposals)},
        finetunes=_newest_finetunes(run.finetunes, policies),
        matrix=transfer_matrix(run.plays, policies, scope, scope, kind),
        means=_means(run.plays),
        scripts={
            task_id: shown_comparison(run.plays, policies.get(task_id, ()), task_id)
            for task_id in scope
        },
        plays=best_plays(run, {task_id: policies.get(task_id, ()) for task_id in scope}, rows),
        thresholds=thresholds,
    )


def _newest_finetunes(
    finetunes: Sequence[Row], policies: Mapping[TaskId, Sequence[str]]
) -> dict[TaskId, Row]:
    """Of each game the newest of the fine-tunes that represent it."""
    ids = {policy_id for several in policies.values() for policy_id in several}
    return {TaskId.of(row): row for row in finetunes if row["finetune_id"] in ids}


def _means(plays: Mapping[PlaysKey, Plays]) -> dict[tuple[str, TaskId], float]:
    """Mean score in bits by policy and task; acceptance plays count before selection plays."""
    means = {}
    for purpose in ("calibration", "selection", "acceptance"):
        for key, sample in plays.items():
            if key.purpose == purpose and len(sample.own):
                means[key.policy_id, key.task_id] = float(np.mean(sample.own))
    return means


@dataclass(frozen=True)
class Reading:
    """An archived program as the language reads it; ``game`` is None if it does not."""

    game: Game | None
    faults: str = ""


def _reading(row: Row) -> Reading:
    """The game of a row; an unreadable one is shown as text, with the reason."""
    try:
        return Reading(stored_game(row))
    except DamagedError as error:
        return Reading(None, f"this version of the language cannot read it: {error.found}")


class _Cards:
    def __init__(
        self,
        members: Sequence[ScopeRow],
        readings: Sequence[Reading],
        titles: Sequence[str],
        source: CardRows,
    ) -> None:
        self.members, self.readings, self.titles, self.source = members, readings, titles, source
        self.task_ids = [member.task_id for member in members]
        self.places = {task_id: place for place, task_id in enumerate(self.task_ids)}
        self.names = names_by_descent(members, titles)
        self.parents = parents(members)
        self.teaches = self._lessons(lambda source, target: (source, target))
        self.taught_by = self._lessons(lambda source, target: (target, source))

    def card(self, place: int) -> GameFacts:
        member, task_id, source = self.members[place], self.task_ids[place], self.source
        row, reading = source.rows[member.game_id], self.readings[place]
        finetune = source.finetunes.get(task_id)
        cell = source.matrix.cells.get((task_id, task_id))
        decision = source.decisions.get(task_id)
        proposal = source.proposals.get(member.game_id, {})
        return GameFacts(
            place=place,
            task_id=task_id,
            name=self.names[place],
            known_as="" if self.titles[place] == self.names[place] else self.titles[place],
            code=row["code"],
            dialect=row["dialect"],
            metadata_json=row["metadata_json"],
            rules=in_words(reading.game, member.role) if reading.game else (),
            faults=reading.faults,
            drawing=draw(reading.game.program, self.names[place]) if reading.game else "",
            pay=_pay(reading.game, row["code"], member.role),
            steps=row["steps"],
            accepted_in=member.accepted_in,
            parent=self.parents[place],
            children=tuple(k for k, parent in enumerate(self.parents) if parent == place),
            gamma=member.gamma,
            decision=decision,
            sampler=proposal.get("sampler", ""),
            operators=tuple(proposal.get("operators", ())),
            training=training(finetune) if finetune else None,
            gain=cell.values.gain if cell else _own_gain(decision),
            specific_share=decision["specific_share"] if decision else None,
            scripts=source.scripts.get(task_id),
            base_mean=source.means.get(("base", task_id)),
            tuned_mean=source.means.get((finetune["finetune_id"], task_id)) if finetune else None,
            plays=source.plays.get(task_id, ()),
            no_bits="",
            teaches=self.teaches.get(place, ()),
            taught_by=self.taught_by.get(place, ()),
        )

    def _lessons(self, turn: Any) -> dict[int, tuple[GameTransfer, ...]]:
        """The largest known values in one direction, by place, without those on itself."""
        definition = (
            self.source.thresholds.definition if self.source.thresholds else Definition.CAPTURED
        )
        transfers: dict[int, list[GameTransfer]] = {}
        for (source, target), cell in self.source.matrix.cells.items():
            value = cell.values.of(definition)
            if source != target and value.value is not None:
                of, other = turn(self.places[source], self.places[target])
                transfers.setdefault(of, []).append(GameTransfer(other, value))
        return {of: _largest(lessons) for of, lessons in transfers.items()}


def _largest(lessons: Iterable[GameTransfer]) -> tuple[GameTransfer, ...]:
    largest_first = sorted(lessons, key=lambda lesson: (-(lesson.value.value or 0.0), lesson.game))
    return tuple(largest_first[:LESSONS])


def _own_gain(decision: Row | None) -> Interval:
    if decision is None or decision["own_gain"] is None:
        return UNDEFINED
    low = decision["own_gain_low"]
    return Interval(decision["own_gain"], -math.inf if low is None else low, math.inf)


def _pay(parsed_game: Game | None, code: str, role: str) -> str:
    """The reward of the role, or the last line of a program that cannot be read."""
    lines = parsed_game.program.instructions if parsed_game else ()
    rewards = [line for line in lines if isinstance(line, syn.Reward) and line.player == role]
    reward = " + ".join(expression_text(line.amount) for line in rewards)
    return reward or (code.strip().splitlines() or [""])[-1]


def training(row: Row) -> FineTuning:
    """The fine-tuning of a row of finetunes."""
    return FineTuning(
        row["finetune_id"],
        row["steps"],
        row["tokens"],
        row["seconds"],
        tuple(row["curve"]),
        tuple(row["entropy"]),
        row["distinct_moves"],
        row["forfeit_rate"],
    )


def interval(row: Row, name: str) -> Interval:
    """Value and bounds of a decision's column; bounds that are null are open."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return Interval(
        row[name], -math.inf if low is None else low, math.inf if high is None else high
    )
