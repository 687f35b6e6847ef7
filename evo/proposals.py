"""Candidates: what the meta-sampler proposes, filtered by what costs nothing (ARCHITECTURE).

Every proposal becomes a row with its fate: invalid, seen, degenerate, too long, or candidate.
"""

from __future__ import annotations

from collections.abc import Sequence

from evo.display import Display
from evo.evaluate import Task
from evo.growth import Place
from evo.ledger import Ledger, Row
from evo.transfer import TransferOracle
from meta_sampler import MetaSampler, Outcome, Proposal
from xgl.analyse import analyse
from xgl.random import seed as named_seed
from xgl.syntax import MAIN_PLAYER

ATTEMPTS = 8
"""Lists asked of the meta-sampler before a shorter list is taken."""


class Proposer:
    """Implements :class:`evo.growth.Sampler` on a meta-sampler and the ledger."""

    def __init__(
        self,
        sampler: MetaSampler,
        ledger: Ledger,
        oracle: TransferOracle,
        display: Display,
        seed: int,
    ) -> None:
        self.sampler, self.ledger, self.oracle = sampler, ledger, oracle
        self.display, self.seed = display, seed
        self.seen: set[str] = set()
        self.waiting: dict[str, Proposal] = {}
        """By game id: candidates whose decision the sampler has not been told."""
        self.codes: dict[str, str] = {}
        """Canonical texts of the scope, by game id."""

    def propose(self, place: Place[Task], scope: Sequence[Task], n: int) -> list[Task]:
        """At most ``n`` games never met before in this run."""
        self.seen.update(task.game_id for task in scope)
        self.codes.update({task.game_id: task.game.code for task in (place.parent, *scope)})
        self.oracle.place = place
        self.display.at(place)
        self._observe()
        found: dict[str, Task] = {}
        rows: list[Row] = []
        for attempt in range(ATTEMPTS):
            for proposal in self._draw(place, scope, n - len(found), attempt):
                rows.append(self._row(place, proposal, len(rows)))
                if rows[-1]["outcome"] == "candidate" and proposal.game is not None:
                    self._welcome(proposal, found)
            if len(found) == n:
                break
        self.ledger.commit(
            proposals=[row for row in rows if row["proposal_id"] not in self.ledger.proposals]
        )
        self.oracle.indices.update({game_id: index for index, game_id in enumerate(found)})
        return list(found.values())

    def _draw(
        self, place: Place[Task], scope: Sequence[Task], n: int, attempt: int
    ) -> list[Proposal]:
        key = (place.generation, place.parent.game_id, place.round, attempt)
        seed = named_seed("proposals", self.seed, *key)
        return self.sampler.propose(place.parent.game, [task.game for task in scope], n, seed)

    def _welcome(self, proposal: Proposal, found: dict[str, Task]) -> None:
        assert proposal.game is not None
        game_id = proposal.game.game_id
        found[game_id] = Task(proposal.game, MAIN_PLAYER)
        self.seen.add(game_id)
        self.waiting[game_id] = proposal

    def _row(self, place: Place[Task], proposal: Proposal, index: int) -> Row:
        game, origin = proposal.game, proposal.provenance
        key = (place.generation, place.parent.game_id, place.round, index)
        return {
            "proposal_id": f"{named_seed('proposal', *key, bits=64):016x}",
            "generation": place.generation,
            "parent_game_id": place.parent.game_id,
            "parent_role": place.parent.role,
            "round": place.round,
            "index": index,
            "sampler": origin.sampler,
            "operators": list(origin.operators),
            "parents": list(origin.parents),
            "text": proposal.text,
            "game_id": game.game_id if game else None,
            "role": MAIN_PLAYER if game else None,
            "outcome": self._fate(proposal),
            "errors": list(proposal.errors),
            "model": origin.model or None,
            "prompt_hash": origin.prompt_hash or None,
            "raw_text": origin.raw if origin.model else None,
            "repairs": list(origin.repairs),
            "tokens": origin.tokens,
            "seconds": origin.seconds,
        }

    def _fate(self, proposal: Proposal) -> str:
        if proposal.game is None:
            return proposal.fate
        if proposal.game.game_id in self.seen:
            return "seen"
        report = analyse(proposal.game.program)
        if report.degenerate or report.read_before_set:
            return "degenerate"
        return "candidate"

    def _observe(self) -> None:
        """Tell the sampler what was decided since, in the order of the decisions."""
        decided = [d for d in self.ledger.decisions.values() if d["game_id"] in self.waiting]
        self.sampler.observe([self._outcome(row) for row in decided])

    def _outcome(self, row: Row) -> Outcome:
        proposal = self.waiting.pop(row["game_id"])
        return Outcome(
            row["game_id"],
            proposal.provenance.operators,
            row["verdict"] == "accepted",
            verdict=str(row["verdict"]),
            reason=row["reason"],
            parent_id=row["parent_game_id"],
            code=proposal.game.code if proposal.game else proposal.text,
            parent_code=self.codes[row["parent_game_id"]],
        )
