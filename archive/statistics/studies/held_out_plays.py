"""Reads the rows of a run of ``+experiment=held_out`` for its analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from archive.errors import LookupFailedError
from archive.query import run_config
from archive.schema import BASE_POLICY, SCRIPT_POLICY, GainKind, PlaysKey, Purpose, TaskId
from archive.statistics.studies.captured_gains import (
    KINDS,
    HeldOutPlays,
    choice_of,
    clear,
)
from archive.statistics.studies.choice_tests import ListChoice
from archive.statistics.studies.growth_candidates import GrowthCandidate
from archive.statistics.studies.held_out import HeldOut, held_out
from archive.statistics.values.intervals import CONFIDENCE, Scores, mean_interval
from archive.statistics.values.plays import SCORE_COLUMNS, Plays, plays_of
from archive.statistics.values.transfer_values import gains
from archive.store.archive import Archive

Row = Mapping[str, Any]
PURPOSE = str(Purpose.HELD_OUT)


def held_out_of(archive: Archive, run_id: str, programs: Sequence[str] = ()) -> HeldOut:
    """The analysis of a run, from its archive only; ``programs``: on these only, by name. Raises
    LookupFailedError if the run is of another kind, has no such program, or has not played enough
    yet."""
    plays = read_held_out_plays(archive, run_id, programs)
    if not plays.choice().mixed_lists:
        raise LookupFailedError(
            f"{archive.folder}: found no list with an accepted candidate and another playable one, "
            "expected one or more"
        )
    return held_out(plays)


def read_choice(archive: Archive, run_id: str) -> ListChoice:
    """The candidates that a run compares, and which of them were accepted, without their plays."""
    rows = archive.rows("held_out_games", filters=[("run_id", "=", run_id)])
    return choice_of([GrowthCandidate.of(row) for row in rows if row["program"] is None])


def read_held_out_plays(
    archive: Archive, run_id: str, programs: Sequence[str] = ()
) -> HeldOutPlays:
    """The gains under the training seeds under which every candidate has played every program (of
    ``programs``). Raises the errors of :func:`held_out_of`."""
    record = _read(archive, run_id)
    if not record.candidates or not record.programs:
        raise LookupFailedError(
            f"{archive.folder}: found no candidates in run {run_id}, expected a run of "
            "+experiment=held_out"
        )
    record = record.only(programs, archive)
    seeds = [seed for seed in record.seeds if record.complete(seed)]
    references = [record.finetunes.get(task_id, {}) for task_id in record.programs.values()]
    reference_seeds = [
        seed
        for seed in sorted(set.intersection(*map(set, references)))
        if all(
            record.has_played(own[seed]["finetune_id"], task_id, reference=True)
            for own, task_id in zip(references, record.programs.values(), strict=True)
        )
    ]
    if not seeds or not reference_seeds or not record.scripts:
        raise LookupFailedError(
            f"{archive.folder}: found no training seed under which every candidate has played "
            "every held-out program, expected one: the run must go on, or --program must name "
            "programs that all have played"
        )
    return record.plays_under(seeds, reference_seeds)


def counting_programs(archive: Archive, run_id: str) -> list[str]:
    """Names of the programs that count for the primary question, which only the plays of their own
    fine-tunes decide (:attr:`~archive.statistics.studies.captured_gains.Reference.counts`)."""
    record = _read(archive, run_id)
    return [name for name, task_id in record.programs.items() if record.counts(task_id)]


@dataclass(frozen=True)
class _Record:
    """``finetunes``: rows by game and number of the training seed, from 0; ``maps``: number of maps
    of each program that candidates and scripts play."""

    candidates: tuple[GrowthCandidate, ...]
    programs: Mapping[str, TaskId]
    finetunes: Mapping[TaskId, Mapping[int, Row]]
    plays: Mapping[PlaysKey, Plays]
    maps: int

    def only(self, programs: Sequence[str], archive: Archive) -> _Record:
        """With these programs only; all without any. Raises LookupFailedError for another name."""
        for name in programs:
            if name not in self.programs:
                raise LookupFailedError(
                    f"{archive.folder}: found no program {name!r}, expected one of "
                    f"{', '.join(self.programs)}"
                )
        chosen = {name: task for name, task in self.programs.items() if name in programs}
        return replace(self, programs=chosen or self.programs)

    @property
    def seeds(self) -> list[int]:
        """Numbers of the training seeds under which any candidate was fine-tuned."""
        finetunes = (self.finetunes.get(candidate.task_id, {}) for candidate in self.candidates)
        return sorted({seed for by_seed in finetunes for seed in by_seed})

    @property
    def scripts(self) -> list[str]:
        """Scripts that have played every program."""
        script_ids = {key.policy_id for key in self.plays if key.scripted}
        return [
            script
            for script in sorted(script_ids)
            if all(self.has_played(script, task_id) for task_id in self.programs.values())
        ]

    def has_played(self, policy: str, task_id: TaskId, reference: bool = False) -> bool:
        """Whether a policy has played a program: the first of the base player's maps, and a
        reference all of them."""
        own, base = (
            self.plays.get(PlaysKey(player, task_id, PURPOSE)) for player in (policy, BASE_POLICY)
        )
        if own is None or base is None:
            return False
        return np.array_equal(own.seeds, base.seeds[: None if reference else self.maps])

    def complete(self, seed: int) -> bool:
        """Whether every candidate has played every program under a training seed."""
        rows = [
            self.finetunes.get(candidate.task_id, {}).get(seed) for candidate in self.candidates
        ]
        return all(
            row is not None and self.has_played(row["finetune_id"], task_id)
            for row in rows
            for task_id in self.programs.values()
        )

    def counts(self, task_id: TaskId) -> bool:
        """Whether a program counts, by both gains of its own fine-tunes."""
        own = [row["finetune_id"] for row in self.finetunes.get(task_id, {}).values()]
        if not own or not all(self.has_played(each, task_id, reference=True) for each in own):
            return False
        scores = [self._scores(each, task_id) for each in own]
        by_kind = [[self._gains(each, task_id, kind) for each in own] for kind in KINDS]
        gains = (mean_interval(np.mean(each, axis=0), CONFIDENCE) for each in by_kind)
        about_map = mean_interval(np.mean(scores, axis=0), CONFIDENCE).low > 0
        return about_map and all(map(clear, gains))

    def plays_under(self, seeds: Sequence[int], references: Sequence[int]) -> HeldOutPlays:
        """The gains under these training seeds of candidates and of references."""
        rows = [
            [self.finetunes[candidate.task_id][seed] for candidate in self.candidates]
            for seed in seeds
        ]
        scripts, programs = self.scripts, list(self.programs.values())
        return HeldOutPlays(
            tuple(self.programs),
            self.candidates,
            tuple(script.removeprefix(SCRIPT_POLICY) for script in scripts),
            {
                kind: np.array(
                    [
                        [self._on_all(row["finetune_id"], kind) for row in of_seed]
                        for of_seed in rows
                    ]
                )
                for kind in GainKind
            },
            {
                kind: np.array(
                    [
                        [
                            self._gains(self.finetunes[task_id][seed]["finetune_id"], task_id, kind)
                            for task_id in programs
                        ]
                        for seed in references
                    ]
                )
                for kind in GainKind
            },
            np.array(
                [
                    [
                        self._scores(self.finetunes[task_id][seed]["finetune_id"], task_id)
                        for task_id in programs
                    ]
                    for seed in references
                ]
            ),
            {
                kind: np.array([self._on_all(script, kind) for script in scripts])
                for kind in GainKind
            },
            np.array([[row["steps"] for row in of_seed] for of_seed in rows], float),
        )

    def _scores(self, policy: str, task_id: TaskId) -> Scores:
        """Specific scores, S − S′."""
        return self.plays[PlaysKey(policy, task_id, PURPOSE)].kind(GainKind.SPECIFIC)

    def _on_all(self, policy: str, kind: GainKind) -> list[Scores]:
        return [self._gains(policy, task_id, kind) for task_id in self.programs.values()]

    def _gains(self, policy: str, task_id: TaskId, kind: GainKind) -> Scores:
        own, base = (
            self.plays[PlaysKey(player, task_id, PURPOSE)] for player in (policy, BASE_POLICY)
        )
        return gains(own, base.at(slice(len(own.seeds))), kind)


def _read(archive: Archive, run_id: str) -> _Record:
    run_filter = [("run_id", "=", run_id)]
    rows = archive.rows("held_out_games", filters=run_filter)
    columns = ["finetune_id", "game_id", "role", "replicate", "steps"]
    finetunes: dict[TaskId, dict[int, Row]] = {}
    for row in archive.rows("finetunes", columns, run_filter):
        finetunes.setdefault(TaskId.of(row), {})[row["replicate"]] = row
    scores = archive.table("scores", list(SCORE_COLUMNS), [*run_filter, ("purpose", "=", PURPOSE)])
    return _Record(
        tuple(GrowthCandidate.of(row) for row in rows if row["program"] is None),
        {row["program"]: TaskId.of(row) for row in rows if row["program"] is not None},
        finetunes,
        {key: plays.in_play_order() for key, plays in plays_of(scores).items()},
        run_config(archive, run_id).get("held_out", {}).get("maps", 0),
    )
