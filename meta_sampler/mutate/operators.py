"""The table of operators, and what each needs.

Before anything was observed all have the same weight: none is favoured for the kinds of games that
it leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from meta_sampler.mutate import axioms, edits, player_edits
from meta_sampler.mutate.program_editor import EditContext, Operator


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator, and whether it needs another player, a loop or another game."""

    apply: Operator
    needs: str = ""
    """"players", "loops" or "donor"; empty if it can always be drawn."""

    def available(self, context: EditContext) -> bool:
        """Whether the context has what it needs."""
        match self.needs:
            case "players":
                return bool(context.others)
            case "loops":
                return context.settings.loops
            case "donor":
                return bool(context.donor)
        return True


OPERATORS: MappingProxyType[str, Entry] = MappingProxyType(
    {
        # lines
        "insert_reward": Entry(edits.insert_reward),
        "insert_assign": Entry(edits.insert_assign),
        "insert_elicit": Entry(edits.insert_elicit),
        "insert_story": Entry(edits.insert_story),
        "insert_distractor": Entry(edits.insert_distractor),
        "permute_stories": Entry(edits.permute_stories),
        "delete_line": Entry(edits.delete_line),
        "replace_line": Entry(edits.replace_line),
        "swap_lines": Entry(edits.swap_lines),
        "retarget_register": Entry(edits.retarget_register),
        "retarget_player": Entry(player_edits.retarget_player, "players"),
        "change_bound": Entry(edits.change_bound),
        "wrap_loop": Entry(edits.wrap_loop, "loops"),
        "add_ensure": Entry(edits.add_ensure),
        "add_reveal": Entry(player_edits.add_reveal, "players"),
        "negate_reward": Entry(edits.negate_reward),
        "split_reward": Entry(edits.split_reward),
        # scores
        "change_kind": Entry(edits.change_kind),
        "swap_target_prefix": Entry(edits.swap_target_prefix),
        "replace_operand": Entry(edits.replace_operand),
        "add_term": Entry(edits.add_term),
        "drop_term": Entry(edits.drop_term),
        "add_prefix": Entry(edits.add_prefix),
        "drop_prefix": Entry(edits.drop_prefix),
        # games
        "crossover": Entry(axioms.crossover, "donor"),
        "compose": Entry(axioms.compose),
        "add_turn": Entry(axioms.add_turn),
        "rescale": Entry(axioms.rescale),
        "zero_sum": Entry(axioms.zero_sum, "players"),
        "update": Entry(axioms.update),
    }
)

FROM_DONOR = frozenset({"crossover", "compose"})
"""Operators that take lines from another game where there is one."""
