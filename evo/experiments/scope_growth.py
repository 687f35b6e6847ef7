"""``+experiment=scope_growth``: Algorithm 1 with the oracle on language models."""

from __future__ import annotations

from collections.abc import Sequence

from archive import RunEvent
from archive.schema import Definition, GainKind
from archive.statistics.plays import read_run_plays
from archive.statistics.scope_cover import CoverQuestion, cover_rows
from evo.experiments.model_run import ModelSession
from evo.jobs.evaluate import Task
from evo.runner import RunOutcome
from evo.search.growth import ScopeMember, grow
from evo.search.initial_scope import learn_initial_scope
from evo.search.oracle import TransferOracle
from evo.search.proposals import Proposer


class ScopeGrowth(ModelSession):
    """Grows a scope; each generation's scope is committed as it forms."""

    def expected_finetunes(self) -> int | None:
        """Initial games and candidates, with their replicates."""
        budget = self.config.growth.max_candidates
        if budget is None:
            return None
        return (len(self.plan.initial) + budget) * self.config.finetune.replicates

    def work(self) -> RunOutcome:
        """Grow to the end of Algorithm 1 and say which end it was."""
        config, ledger = self.config, self.ledger
        oracle = TransferOracle(config, ledger, self.collector)
        proposer = Proposer(
            self.plan.sampler, ledger, self.display, config.seed, config.growth.diversity
        )
        initial = learn_initial_scope(config, oracle.selection, self.plan.initial)
        scopes = grow(initial, oracle, proposer, config.growth, config.seed)
        for generation, members in enumerate(scopes):
            if generation not in ledger.scopes:
                self._commit_scope(generation, members)
        return self._outcome()

    def _commit_scope(self, generation: int, members: Sequence[ScopeMember[Task]]) -> None:
        """A generation's scope and its cover in one commit: a resumed run lacks both or neither."""
        transfer, ledger = self.config.transfer, self.ledger
        question = CoverQuestion(
            self.config.growth.eta,
            Definition(transfer.definition),
            GainKind(transfer.gain),
            skip_unplayable=True,
        )
        scope = [member.game.id for member in members]
        ledger.commit(
            scopes=[_scope_row(generation, member) for member in members],
            covers=cover_rows(
                read_run_plays(ledger.archive, ledger.run_id), scope, generation, question
            ),
        )

    def _outcome(self) -> RunOutcome:
        """Why Algorithm 1 came to its end."""
        growth, generation = self.config.growth, max(self.ledger.scopes, default=0)
        judged = sum(row["outcome"] == "candidate" for row in self.ledger.proposals.values())
        message, overrides = "the last generation accepted nothing", None
        if growth.max_candidates is not None and judged >= growth.max_candidates:
            message = f"growth.max_candidates={growth.max_candidates} are judged"
        elif any(row["accepted_in"] == generation for row in self.ledger.newest_scope):
            message = f"growth.generations={growth.generations} is reached"
            overrides = (f"growth.generations={2 * growth.generations}",)
        return RunOutcome(RunEvent.FINISHED, 0, message, overrides)


def _scope_row(generation: int, member: ScopeMember[Task]) -> dict[str, object]:
    return {
        "generation": generation,
        "game_id": member.game.game_id,
        "role": member.game.role,
        "parent_game_id": member.parent.game_id if member.parent else None,
        "gamma": member.gamma,
        "accepted_in": member.generation,
    }
