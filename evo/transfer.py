"""The oracle on language models: candidates judged by what fine-tuning on them teaches.

Each stage costs more than the one before, and only what passed goes on (ARCHITECTURE, "one
candidate's way through"): calibration, fine-tune, own gain, help to the parent, coverage by
the scope, acceptance on fresh seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from archive import Purpose, Verdict
from archive.derive.decision import gamma, simultaneous
from archive.derive.intervals import Scores, mean_interval
from archive.derive.transfer import BASE, Values, gains, specific_share, transfer_values
from evo.config import ConfigError, RunConfig
from evo.evaluate import Task
from evo.experiments import Experiments, Plays, SeedSet
from evo.growth import Assessment, Place, rank
from evo.ledger import Ledger, Row, decision_key
from evo.playability import evidence_columns
from evo.verdict import Decision, Evidence, Thresholds, decide, decision_columns


@dataclass(frozen=True)
class Inquiry:
    """On which plays a question is asked, and how sure each one-sided bound must be."""

    purpose: Purpose
    seeds: SeedSet
    confidence: float


class TransferOracle:
    """Implements :class:`evo.growth.Oracle` with fine-tunes and plays.

    The decisions of a list are rows in the list's order; ``place`` says which list it is.
    """

    def __init__(self, config: RunConfig, ledger: Ledger, experiments: Experiments) -> None:
        self.config, self.ledger, self.experiments = config, ledger, experiments
        self.place: Place[Task] | None = None
        self.indices: dict[str, int] = {}
        self.thresholds = Thresholds(
            config.growth.alpha1,
            config.growth.alpha2,
            config.transfer.definition,  # type: ignore[arg-type]  # checked by the configuration
            config.transfer.gain,  # type: ignore[arg-type]
        )

    @property
    def selection(self) -> Inquiry:
        plays = self.config.transfer.selection_plays
        seeds = self.experiments.seeds(Purpose.SELECTION, plays)
        return Inquiry(Purpose.SELECTION, seeds, self.config.transfer.confidence)

    @property
    def looks(self) -> list[Inquiry]:
        """The looks of the acceptance test; their errors add up to the configured one."""
        counts = self.config.transfer.acceptance_plays
        confidence = simultaneous(self.config.transfer.confidence, len(counts))
        return [
            Inquiry(Purpose.ACCEPTANCE, self.experiments.seeds(Purpose.ACCEPTANCE, n), confidence)
            for n in counts
        ]

    # -- the initial scope -----------------------------------------------------------------

    def prepare(self, initial: Sequence[Task]) -> list[Task]:
        """Calibrate and fine-tune the initial games; returns those that fine-tuning improves.

        Whether a fine-tune learns a learnable game hangs on its training seed: an initial game has
        ``growth.initial_attempts`` of them.

        Raises :class:`ConfigError` naming a game that cannot be played or learned, unless
        ``growth.unplayable_initial`` is ``keep``.
        """
        self.experiments.calibrate(initial)
        for task in initial:
            if reason := self.experiments.unfit(task):
                raise ConfigError(f"growth.initial_scope: game {task.game_id}: {reason}")
        self._learn(initial)
        for _ in range(self.config.growth.initial_attempts - 1):
            unlearned = [task for task in initial if self._unplayable(task)]
            self.experiments.restart(unlearned)
            self._learn(unlearned)
        usable = [task for task in initial if not self._unplayable(task)]
        lost = [task for task in initial if task not in usable]
        if lost and self.config.growth.unplayable_initial == "stop":
            raise ConfigError(
                f"growth.initial_scope: game {lost[0].game_id}: {self._unplayable(lost[0])}, "
                "expected games that fine-tuning improves"
            )
        return usable

    def _learn(self, tasks: Sequence[Task]) -> None:
        """Fine-tune on games and see what each gains of its own."""
        asked, lab = self.selection, self.experiments
        lab.finetune(tasks)
        lab.play(p for t in tasks for p in lab.own_plays(t, asked.purpose, asked.seeds))

    # -- growth.Oracle ---------------------------------------------------------------------

    def assess(
        self, parent: Task, candidates: Sequence[Task], scope: Sequence[Task]
    ) -> list[Assessment[Task]]:
        """Selection: point estimates on common seeds; refuses on the way what cannot pass."""
        asked, lab = self.selection, self.experiments
        lab.calibrate(candidates)
        fit = self._passing(parent, candidates, lab.unfit)
        lab.finetune(fit)
        lab.play(p for t in fit for p in lab.own_plays(t, asked.purpose, asked.seeds))
        playable = self._passing(parent, fit, self._unplayable)
        lab.play(p for t in playable for p in lab.crossed([t], parent, asked.purpose, asked.seeds))
        useful = [t for t in playable if self._seems_to_help(t, parent)]
        lab.play(p for t in useful for p in lab.crossed(scope, t, asked.purpose, asked.seeds))
        lab.play(self._denominators(scope, asked) if useful else ())
        found = [
            (t, self._evidence(t, parent, scope if t in useful else (), asked)) for t in playable
        ]
        assessed = [self._assessment(task, evidence) for task, evidence in found]
        ranked = rank(assessed, self.thresholds.alpha1, self.thresholds.alpha2)
        for task, evidence in found:
            if task not in ranked:
                self._record(parent, task, decide(evidence, self.thresholds), evidence)
        return assessed

    def confirm(
        self, parent: Task, ranked: Sequence[Task], scope: Sequence[Task]
    ) -> Assessment[Task] | None:
        """Acceptance tests, the smallest γ first, until one passes or the limit is reached."""
        tried = ranked[: self.config.transfer.confirmations]
        accepted, rest = None, list(ranked)
        for task in tried:
            rest.remove(task)
            accepted = self._tested(parent, task, scope)
            if accepted:
                break
        reason = "another of its list was newer" if accepted else "others of its list looked newer"
        for task in rest:
            evidence = self._evidence(task, parent, scope, self.selection)
            self._record(parent, task, Decision(Verdict.REFUSED, reason, False), evidence)
        return accepted

    # -- estimates ---------------------------------------------------------------------------

    def _tested(
        self, parent: Task, candidate: Task, scope: Sequence[Task]
    ) -> Assessment[Task] | None:
        """One acceptance test on fresh seeds, look by look; undecided at the last is refused."""
        lab, open_looks = self.experiments, self.looks
        while True:
            asked = open_looks.pop(0)
            at = (asked.purpose, asked.seeds)
            lab.play(
                lab.own_plays(candidate, *at)
                + lab.own_plays(parent, *at)
                + lab.crossed([candidate], parent, *at)
                + lab.crossed(scope, candidate, *at)
                + self._denominators(scope, asked)
            )
            evidence = self._evidence(candidate, parent, scope, asked)
            decision = decide(evidence, self.thresholds)
            if decision.decided or not open_looks:
                break
        self._record(parent, candidate, decision, evidence)
        accepted = decision.verdict is Verdict.ACCEPTED
        return self._assessment(candidate, evidence) if accepted else None

    def _evidence(
        self, task: Task, parent: Task, scope: Sequence[Task], asked: Inquiry
    ) -> Evidence:
        """All estimates of one candidate; the bounds on γ hold together over the scope."""
        wide = _two_sided(simultaneous(asked.confidence, len(scope)))
        definition = self.thresholds.definition
        taught = {s.game_id: self._values(s, task, asked, wide).of(definition) for s in scope}
        values = self._values(task, parent, asked, _two_sided(asked.confidence))
        return replace(self._own_evidence(task, asked), values=values, gamma=gamma(taught))

    def _own_evidence(self, task: Task, asked: Inquiry) -> Evidence:
        """What fine-tuning on the game did for the game itself."""
        level = _two_sided(asked.confidence)
        at = (task, asked.purpose, asked.seeds)
        base = self.experiments.sample(BASE, *at)
        policy = self.experiments.sample(self.experiments.policy_id(task), *at)
        return Evidence(
            purpose=asked.purpose,
            confidence=asked.confidence,
            own=mean_interval(gains(policy, base, self.thresholds.gain), level),
            specific=mean_interval(gains(policy, base, "specific"), level),
            share=specific_share(policy, base),
        )

    def _values(self, source: Task, target: Task, asked: Inquiry, level: float) -> Values:
        """C and V of ``source`` on ``target``; V only where the source's own gains are known."""
        cross = self._gains(source, target, asked)
        own = self.experiments.own_plays(source, asked.purpose, asked.seeds)
        known = all(self.ledger.has_scores(plays.key, plays.seeds) for plays in own)
        source_own = self._gains(source, source, asked) if known else None
        target_own = self._gains(target, target, asked)
        plain = _two_sided(asked.confidence)
        return transfer_values(cross, target_own, source_own, level, plain)

    def _denominators(self, scope: Sequence[Task], asked: Inquiry) -> list[Plays]:
        """What V, unlike C, needs beside the plays on the candidate: the sources' own gains."""
        if self.thresholds.definition == "captured":
            return []
        own = self.experiments.own_plays
        return [plays for task in scope for plays in own(task, asked.purpose, asked.seeds)]

    def _gains(self, source: Task, target: Task, asked: Inquiry) -> Scores:
        at = (target, asked.purpose, asked.seeds)
        policy = self.experiments.sample(self.experiments.policy_id(source), *at)
        return gains(policy, self.experiments.sample(BASE, *at), self.thresholds.gain)

    def _seems_to_help(self, task: Task, parent: Task) -> bool:
        level = _two_sided(self.selection.confidence)
        values = self._values(task, parent, self.selection, level)
        value = values.of(self.thresholds.definition).value
        return value is not None and value >= self.thresholds.alpha1

    def _unplayable(self, task: Task) -> str:
        """Why fine-tuning did not improve play, by a one-sided test; empty if it did."""
        sample = self._gains(task, task, self.selection)
        own = mean_interval(sample, _two_sided(self.selection.confidence))
        if own.low > 0:
            return ""
        return f"not playable: own gain {own.value:.2f} bits, lower bound {own.low:.2f}"

    def _assessment(self, task: Task, evidence: Evidence) -> Assessment[Task]:
        value = evidence.values.of(self.thresholds.definition).value
        return Assessment(task, value, evidence.gamma.interval.value)

    # -- rows ----------------------------------------------------------------------------------

    def _passing(
        self, parent: Task, tasks: Sequence[Task], refusal: Callable[[Task], str]
    ) -> list[Task]:
        """Those without a reason for refusal; the others are recorded with it."""
        passed = []
        for task in tasks:
            if reason := refusal(task):
                evidence = Evidence(None, self.selection.confidence)
                if self.experiments.policy_id(task) in self.ledger.finetunes:
                    evidence = self._own_evidence(task, self.selection)
                settled = evidence.purpose is None or evidence.own.high <= 0
                kind = reason.partition(":")[0]
                self._record(parent, task, Decision(Verdict.REFUSED, kind, settled), evidence)
            else:
                passed.append(task)
        return passed

    def _record(self, parent: Task, task: Task, decision: Decision, evidence: Evidence) -> None:
        assert self.place is not None
        policy_id = self.experiments.policy_id(task)
        row: Row = {
            "generation": self.place.generation,
            "parent_game_id": parent.game_id,
            "parent_role": parent.role,
            "round": self.place.round,
            "index": self.indices[task.game_id],
            "game_id": task.game_id,
            "role": task.role,
            "finetune_id": policy_id if policy_id in self.ledger.finetunes else None,
            **decision_columns(decision, evidence, self.thresholds, task.role),
            **evidence_columns(self.experiments.well_posed(task), self.experiments.few_shot(task)),
            **self.ledger.spent_on(task, policy_id),
        }
        if decision_key(row) not in self.ledger.decisions:
            self.ledger.commit(decisions=[row])
        if decision.verdict is not Verdict.ACCEPTED:
            self.experiments.drop_adapter(task)
        self.experiments.display.decided(task, decision)


def _two_sided(confidence: float) -> float:
    """Confidence of the two-sided interval whose bounds each hold at ``confidence``."""
    return max(0.0, 2 * confidence - 1)
