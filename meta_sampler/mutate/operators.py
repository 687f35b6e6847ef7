"""The table of operators: what each needs, and its weight before anything was observed.

Weights favour edits of what is there over additions, so that lines of descent vary rather than
grow. They count draws, and most deletions of a line are redrawn as invalid or unsound: hence the
large weight of ``delete_line``. A second move makes a game several times as costly to learn: hence
the small ones of ``insert_elicit`` and ``compose``.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from meta_sampler.mutate import axioms, edits, player_edits
from meta_sampler.mutate.program_editor import EditContext, Operator


@dataclass(frozen=True, slots=True)
class Entry:
    """An operator, its weight, and whether it needs another player, a loop or another game."""

    apply: Operator
    weight: float
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
        "insert_reward": Entry(edits.insert_reward, 0.5),
        "insert_assign": Entry(edits.insert_assign, 1.0),
        "insert_elicit": Entry(edits.insert_elicit, 0.7),
        "insert_story": Entry(edits.insert_story, 1.5),
        "insert_distractor": Entry(edits.insert_distractor, 2.0),
        "delete_line": Entry(edits.delete_line, 5.0),
        "replace_line": Entry(edits.replace_line, 1.0),
        "swap_lines": Entry(edits.swap_lines, 0.7),
        "retarget_register": Entry(edits.retarget_register, 0.7),
        "retarget_player": Entry(player_edits.retarget_player, 1.5, "players"),
        "change_bound": Entry(edits.change_bound, 1.0),
        "wrap_loop": Entry(edits.wrap_loop, 1.0, "loops"),
        "add_ensure": Entry(edits.add_ensure, 0.7),
        "add_reveal": Entry(player_edits.add_reveal, 1.0, "players"),
        "negate_reward": Entry(edits.negate_reward, 0.7),
        "split_reward": Entry(edits.split_reward, 0.5),
        # scores
        "change_kind": Entry(edits.change_kind, 1.0),
        "swap_target_prefix": Entry(edits.swap_target_prefix, 0.7),
        "replace_operand": Entry(edits.replace_operand, 2.0),
        "add_term": Entry(edits.add_term, 1.0),
        "drop_term": Entry(edits.drop_term, 2.0),
        "add_prefix": Entry(edits.add_prefix, 0.7),
        "drop_prefix": Entry(edits.drop_prefix, 0.7),
        # games
        "crossover": Entry(axioms.crossover, 1.5, "donor"),
        "compose": Entry(axioms.compose, 0.7),
        "rescale": Entry(axioms.rescale, 0.7),
        "zero_sum": Entry(axioms.zero_sum, 1.5, "players"),
        "update": Entry(axioms.update, 1.5),
    }
)

FROM_DONOR = frozenset({"crossover", "compose"})
"""Operators that take lines from another game where there is one."""
