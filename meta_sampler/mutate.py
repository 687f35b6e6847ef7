"""The mutation sampler: one to three operators of a table applied to a parent, redrawn until sound.

Before the first outcome all operators have the same weight, so no kind of game is favoured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from types import MappingProxyType

from meta_sampler import operators as ops, program_editor as editor
from meta_sampler.base import MetaSampler, Outcome, Proposal, Provenance
from meta_sampler.settings import MutateSettings
from meta_sampler.soundness import FIT, KnownGames, admitted_players, faults, filled_constants, fit
from xgl.language.canonical import Game, game
from xgl.language.syntax import MAIN_PLAYER, Program

NEEDS = {
    **dict.fromkeys(("retarget_player", "add_reveal", "zero_sum"), "players"),
    "wrap_loop": "loops",
    "crossover": "donor",
}
"""What some operators need: another player, loops or another game."""
_LINES = (
    *(ops.insert_reward, ops.insert_assign, ops.insert_elicit, ops.insert_story),
    *(ops.insert_distractor, ops.permute_stories, ops.delete_line, ops.replace_line),
    *(ops.swap_lines, ops.retarget_register, ops.retarget_player, ops.change_bound, ops.wrap_loop),
    *(ops.add_ensure, ops.add_reveal, ops.negate_reward, ops.split_reward),
)
_SCORES = (
    *(ops.change_kind, ops.swap_target_prefix, ops.replace_operand, ops.add_term, ops.drop_term),
    *(ops.add_prefix, ops.drop_prefix),
)
_GAMES = (ops.crossover, ops.compose, ops.add_turn, ops.rescale, ops.zero_sum, ops.update)
OPERATORS: Mapping[str, editor.Operator] = MappingProxyType(
    {each.__name__: each for each in (*_LINES, *_SCORES, *_GAMES)}
)

FROM_DONOR = frozenset({"crossover", "compose"})
"""Operators that take lines from another game, if there is one."""

NAME = "mutate"

Donors = list[tuple[str, editor.Lines]]
"""Other games of the parent's dialect: their ids, and their lines that may enter a child."""


class Mutate(MetaSampler):
    """A :class:`~meta_sampler.base.MetaSampler` of random edits; every proposal is valid.

    Children keep the parent's dialect and metadata, obey the settings' caps, which widen with the
    scope, and are new: none has the normal form of the parent, or of a game of scope or list.
    """

    def __init__(
        self,
        settings: MutateSettings | None = None,
        operators: Mapping[str, editor.Operator] = OPERATORS,
    ) -> None:
        self.settings = settings or MutateSettings()
        self._operators = dict(operators)
        self._trials = dict.fromkeys(operators, 0.0)
        self._credits = dict.fromkeys(operators, 0.0)

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """At most ``n`` children; fewer if a parent has too little to vary."""
        settings = self.settings.widen(len(scope))
        players = admitted_players(parent, settings.players)
        constants = filled_constants(parent)
        context = editor.EditContext(settings, players, constants, parent.dialect, main=role)
        others = [x for x in scope if x.game_id != parent.game_id and x.dialect == parent.dialect]
        pairs = [(other.game_id, editor.donor_lines(other.program, context)) for other in others]
        donors = [(game_id, lines) for game_id, lines in pairs if lines]
        known_games = KnownGames((parent, *scope))
        proposals: list[Proposal] = []
        for index in range(n):
            rng = Random(f"{NAME}/{parent.game_id}/{seed}/{index}")
            for _ in range(self.settings.attempts):
                child, provenance = self._draw(parent, context, donors, rng)
                if not faults(child, parent, settings, role):
                    new = game(child, parent.metadata)
                    proposal = known_games.checked(Proposal(new.code, new, (), provenance))
                    if proposal.game:
                        proposals.append(proposal)
                        break
        return proposals

    def _draw(
        self, parent: Game, context: editor.EditContext, donors: Donors, rng: Random
    ) -> tuple[Program, Provenance]:
        """A child, sound or not, and how it was made."""
        before, parents = parent.program.instructions, [parent.game_id]
        if donors:
            donor, lines = rng.choice(donors)
            context = replace(context, donor=lines)
        edited_lines, operators = self._edit(before, context, rng)
        if donors and not FROM_DONOR.isdisjoint(operators):
            parents.append(donor)
        pruned_lines = editor.prune(edited_lines, editor.unread_registers(before))
        child = Program(pruned_lines, parent.dialect)
        fitted_program = fit(child, context.settings, parent)
        repairs = {editor.PRUNE: pruned_lines != edited_lines, FIT: fitted_program != child}
        operators += tuple(name for name, holds in repairs.items() if holds)
        return fitted_program, Provenance(NAME, operators, tuple(parents))

    def _edit(
        self, lines: editor.Lines, context: editor.EditContext, rng: Random
    ) -> tuple[editor.Lines, tuple[str, ...]]:
        """One to three operators in a row, with the names of those that changed something."""
        loops = context.settings.loops
        has = {"players": bool(context.others), "loops": loops, "donor": bool(context.donor)}
        names = [name for name in self._operators if has.get(NEEDS.get(name, ""), True)]
        weights = [self._weight(name) for name in names]
        applied_names: tuple[str, ...] = ()
        count = rng.choices((1, 2, 3), (0.5, 0.35, 0.15))[0]
        for name in rng.choices(names, weights, k=count):
            with suppress(editor.NothingError):
                edited_lines = self._operators[name](lines, context, rng)
                if edited_lines and edited_lines != lines:
                    lines, applied_names = edited_lines, (*applied_names, name)
        return lines, applied_names

    def _weight(self, name: str) -> float:
        """The ratio of the operator's mean credit to the common one."""
        trials, credits = sum(self._trials.values()), sum(self._credits.values())
        if not credits:
            return 1.0
        # Shrunk to the common rate by PRIOR outcomes, so that one lucky child of a rare operator
        # does not outweigh dozens of trials of another.
        common = credits / trials
        mean = (self._credits[name] + PRIOR * common) / (self._trials[name] + PRIOR)
        return min(SPREAD, max(1 / SPREAD, mean / common))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Raise the weights of operators whose children were accepted, or might have been: count
        each outcome for every operator that took part in it; the weight of earlier ones falls."""
        for outcome in outcomes:
            for sums in (self._trials, self._credits):
                for name in sums:
                    sums[name] *= self.settings.decay
            for name in self._trials.keys() & outcome.operators:
                self._trials[name] += 1.0
                self._credits[name] += outcome.progress.value


SPREAD = 4.0
"""A weight stays within this factor of 1, so that no operator dies out."""

PRIOR = 8.0
"""Weight of the common rate, in outcomes of an operator."""
