"""The games of the newest scope: program, family, what was learned, best plays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archive.errors import DamagedError
from archive.names import library_title, names_by_descent, parents
from archive.report.best_plays import best_plays
from archive.report.contents import BestPlay, FineTuning, GameFacts, GameTransfer, RunThresholds
from archive.run import Row, Run, stored_game
from archive.schema import Definition, GainKind, ScopeRow, TaskId
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.scripts import beside_scripts, own_gain
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

    run: Run
    rows: Mapping[str, Row]
    proposals: Mapping[str, Row]
    finetunes: Mapping[TaskId, Row]
    matrix: TransferMatrix
    plays: Mapping[TaskId, tuple[BestPlay, ...]]
    thresholds: RunThresholds | None


def gather_games(
    run: Run, thresholds: RunThresholds | None
) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = sorted(run.newest_scope[1], key=lambda member: member.generation)
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
        run=run,
        rows=rows,
        proposals={row["game_id"]: row for row in reversed(proposals)},
        finetunes=_newest_finetunes(run.finetunes, policies),
        matrix=transfer_matrix(run.plays, policies, scope, scope, kind),
        plays=best_plays(run, {task_id: policies.get(task_id, ()) for task_id in scope}, rows),
        thresholds=thresholds,
    )


def _newest_finetunes(
    finetunes: Sequence[Row], policies: Mapping[TaskId, Sequence[str]]
) -> dict[TaskId, Row]:
    """Of each game the newest of the fine-tunes that represent it."""
    ids = {policy_id for several in policies.values() for policy_id in several}
    return {TaskId.of(row): row for row in finetunes if row["finetune_id"] in ids}


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
        proposal = source.proposals.get(member.game_id, {})
        return GameFacts(
            place=place,
            task_id=task_id,
            name=self.names[place],
            title=source.run.titles.get(task_id, ""),
            known_as="" if self.titles[place] == self.names[place] else self.titles[place],
            code=row["code"],
            dialect=row["dialect"],
            metadata_json=row["metadata_json"],
            rules=in_words(reading.game, member.role) if reading.game else (),
            faults=reading.faults,
            drawing=draw(reading.game.program, self.names[place]) if reading.game else "",
            pay=_pay(reading.game, row["code"], member.role),
            steps=row["steps"],
            generation=member.generation,
            parent=self.parents[place],
            children=tuple(k for k, parent in enumerate(self.parents) if parent == place),
            gamma=member.gamma,
            decision=source.run.accepted.get(task_id),
            sampler=proposal.get("sampler", ""),
            operators=tuple(proposal.get("operators", ())),
            training=training(finetune) if finetune else None,
            own=own_gain(source.run, task_id),
            scripts=beside_scripts(source.run, task_id),
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
