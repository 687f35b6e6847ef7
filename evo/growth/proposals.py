"""Candidates: proposals of the meta-sampler that pass the filters which need no plays.

Every proposal becomes a row with its fate: invalid, seen, degenerate, passed over, candidate, or
one of the sampler's own. A round whose rows are in the archive is not proposed again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from archive import ProposalOutcome, Reason, Verdict
from archive.run import explanation, reason_of
from archive.schema import TaskId
from evo.growth.algorithm import Place
from evo.jobs.evaluation import Task
from evo.record.display import Display
from evo.record.ledger import Ledger, Row
from meta_sampler.base import MetaSampler, Outcome, Progress, Proposal, Provenance
from meta_sampler.soundness import keys_of
from xgl.analysis.plain_english import objective
from xgl.analysis.static_facts import analyse, analyse_roles, learning_roles
from xgl.language.canonical import Game, game
from xgl.language.parser import parse
from xgl.random_streams import seed as named_seed

ATTEMPTS = 8
"""Most requests to the meta-sampler for one list; then a shorter list is taken."""
FREE = {"tokens": 0, "seconds": 0.0, "dollars": 0.0}
"""What further roles of a game cost."""

MIGHT_JOIN = (
    *(Reason.UNLIKELY, Reason.HELP_OPEN, Reason.COVERAGE_OPEN),
    *(Reason.RIVAL_ACCEPTED, Reason.RIVALS_TESTED),
)
"""Reasons by which a candidate is undecided for good, and another run might accept it."""

Candidate = tuple[Task, Proposal]
"""A game in one role, and the proposal that it came with."""
Round = tuple[int, TaskId, int]
"""Generation, parent, round."""


@dataclass(eq=False)
class Proposer:
    """Implements :class:`evo.growth.algorithm.Sampler` on a meta-sampler and the ledger.
    ``decisions``: those that the sampler may observe; ``can_play``: whether the run's models can
    play a game; ``novelty``: whether lists prefer games with new objectives."""

    sampler: MetaSampler
    ledger: Ledger
    listener: Display
    seed: int
    decisions: Mapping[Any, Row]
    can_play: Callable[[Game], bool]
    novelty: bool = False
    games: dict[TaskId, Game] = field(default_factory=dict)
    """All games of this run so far."""
    _keys: set[tuple[Hashable, str]] = field(default_factory=set)
    """What these are known by, each in its roles."""
    objectives: Counter[frozenset[tuple[object, ...]]] = field(default_factory=Counter)
    """Of these games, if novelty counts."""
    pending: dict[TaskId, Proposal] = field(default_factory=dict)
    """Candidates whose decision the sampler has not observed."""

    def __post_init__(self) -> None:
        self._archived_rows = defaultdict[Round, list[Row]](list)
        for row in self.ledger.proposals.values():
            parent = TaskId(row["parent_game_id"], row["parent_role"])
            self._archived_rows[row["generation"], parent, row["round"]].append(row)
            self.sampler.charge(row["sampler"], row["tokens"], row["dollars"])

    def propose(self, place: Place[Task], scope: Sequence[Task], n: int) -> list[Task]:
        """At most ``n`` games that are new in this run, each in a role that moves and may learn
        (§4.1)."""
        self._add(scope)
        new_decisions = [d for d in self.decisions.values() if TaskId.of(d) in self.pending]
        self.sampler.observe([self._outcome(row) for row in new_decisions])
        rows = self._archived_rows.get((place.generation, place.parent.id, place.round))
        if rows:
            candidates = self._archived_candidates(rows, place)
        else:
            self.listener.candidate_list(place.parent, place.round)
            candidates = self._new_candidates(place, scope, n)
        self.pending |= {task.id: proposal for task, proposal in candidates}
        tasks = [task for task, _ in candidates]
        self._add(tasks)
        return tasks

    def _add(self, tasks: Sequence[Task]) -> None:
        new = [task for task in tasks if task.id not in self.games]
        self.games |= {task.id: task.game for task in new}
        self._keys.update((key, task.role) for task in new for key in keys_of(task.game))
        if self.novelty:
            self.objectives.update(objective(task.game, task.role) for task in new)

    def _archived_candidates(self, rows: Sequence[Row], place: Place[Task]) -> list[Candidate]:
        """The candidates of a round that is in the archive, as the sampler gave them."""
        like = place.parent.game
        candidates: list[Candidate] = []
        for row in sorted(rows, key=lambda each: int(each["index"])):
            if row["outcome"] == ProposalOutcome.CANDIDATE:
                new = game(parse(row["text"], like.dialect), like.metadata)
                names = tuple(row["operators"]), tuple(row["parents"])
                proposal = Proposal(row["text"], new, (), Provenance(row["sampler"], *names))
                candidates.append((Task(new, row["role"]), proposal))
        return candidates

    def _new_candidates(self, place: Place[Task], scope: Sequence[Task], n: int) -> list[Candidate]:
        """Request proposals until there are enough candidates, if novelty counts with objectives
        that are all new, and commit all of them."""
        # Candidates with their rows, and how many games before them have the same objective.
        pool, rows = list[tuple[Candidate, Row, int]](), list[Row]()
        known, objectives = self._keys.copy(), self.objectives.copy()
        for attempt in range(ATTEMPTS):
            new_count = sum(not alike for *_, alike in pool)
            if new_count >= n or len(pool) >= n * (1 + self.novelty):
                break
            for proposal in self._request(place, scope, n - new_count, attempt):
                for seat, role in enumerate(_roles(proposal)):
                    rows.append(self._row(place, proposal, role, len(rows), known))
                    if seat:
                        rows[-1] |= FREE
                    if rows[-1]["outcome"] != ProposalOutcome.CANDIDATE or proposal.game is None:
                        continue
                    task, alike = Task(proposal.game, role), 0
                    known.update((key, role) for key in keys_of(task.game))
                    if self.novelty:
                        aim = objective(task.game, role)
                        alike = objectives[aim] if aim else len(known)
                        objectives[aim] += 1
                    pool.append(((task, proposal), rows[-1], alike))
        pool.sort(key=lambda each: each[2])
        for _, row, _ in pool[n:]:
            row["outcome"] = ProposalOutcome.PASSED_OVER
        # In the order of the rows, in which a resumed run reads them.
        candidates = [each for each, row, _ in sorted(pool[:n], key=lambda each: each[1]["index"])]
        games = self.ledger.game_rows([task for task, _ in candidates])
        self.ledger.commit(proposals=rows, games=games)
        return candidates

    def _request(
        self, place: Place[Task], scope: Sequence[Task], n: int, attempt: int
    ) -> list[Proposal]:
        parent = place.parent
        key = (place.parent_generation, parent.id.key, place.round, attempt)
        seed = named_seed("proposals", self.seed, *key)
        games = list({task.game_id: task.game for task in scope}.values())
        proposals = self.sampler.propose(parent.game, games, n, seed, parent.role)
        seats = {TaskId(parent.game_id, role) for role in learning_roles(parent.game.program)}
        if seats <= self.games.keys():
            return proposals
        # The parent itself is new in the roles that no candidate has had.
        origin = Provenance("roles", ("change_role",), (parent.game_id,))
        return [Proposal(parent.game.code, parent.game, (), origin), *proposals]

    def _row(
        self,
        place: Place[Task],
        proposal: Proposal,
        role: str,
        index: int,
        known: Container[tuple[Hashable, str]],
    ) -> Row:
        game, origin = proposal.game, asdict(proposal.provenance)
        raw_text = origin.pop("raw")
        key = (place.parent_generation, place.parent.id.key, place.round, index)
        return {
            "proposal_id": f"{named_seed('proposal', *key, bits=64):016x}",
            "generation": place.generation,
            "parent_game_id": place.parent.game_id,
            "parent_role": place.parent.role,
            "round": place.round,
            "index": index,
            "text": proposal.text,
            "game_id": game.game_id if game else None,
            "role": role or None,
            "outcome": self._fate(proposal, role, place.parent, known),
            "errors": list(proposal.errors),
            "raw_text": raw_text if origin["model"] else None,
            **{name: None if value == "" else value for name, value in origin.items()},
        }

    def _fate(
        self, proposal: Proposal, role: str, parent: Task, known: Container[tuple[Hashable, str]]
    ) -> str:
        if proposal.game is None:
            return proposal.fate
        program = proposal.game.program
        if any((key, role) in known for key in keys_of(proposal.game)):
            return ProposalOutcome.SEEN
        report = analyse(program, role=role)
        unset = len(analyse(parent.game.program).read_before_set)
        is_degenerate = report.degenerate or len(report.read_before_set) > unset
        if is_degenerate or not self.can_play(proposal.game):
            return ProposalOutcome.DEGENERATE
        return ProposalOutcome.CANDIDATE

    def _outcome(self, row: Row) -> Outcome:
        proposal, reason = self.pending.pop(TaskId.of(row)), reason_of(row)
        progress = Progress.OPEN if reason in MIGHT_JOIN else Progress.REFUSED
        if reason.verdict is Verdict.ACCEPTED:
            progress = Progress.ACCEPTED
        return Outcome(
            row["game_id"],
            proposal.provenance.operators,
            progress,
            f"{row['verdict']}: {explanation(row)}",
            parent_id=proposal.provenance.parents[0],
            code=proposal.game.code if proposal.game else proposal.text,
            sampler=proposal.provenance.sampler,
        )


def _roles(proposal: Proposal) -> tuple[str, ...]:
    """The roles in which a game is a candidate; if none may learn, the first that moves."""
    if proposal.game is None:
        return ("",)
    program = proposal.game.program
    return learning_roles(program) or (analyse_roles(program)[0].role,)
