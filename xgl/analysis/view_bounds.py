"""Static facts of each request for a move: how large the view gets that its player reads.

A view is the code and a line for each thing that the player was shown
(``xgl.runtime.presentation``). The bound is in judge tokens while no ensure fails; code, labels
and numbers count a token a byte.
"""

from __future__ import annotations

from collections import defaultdict

from xgl.analysis.request_bounds import Bound, Scale, Unrolled
from xgl.language import syntax as syn
from xgl.language.canonical import canonicalise
from xgl.language.unparse import expression_text, to_text
from xgl.language.visitors import held

NUMBER = 8
"""Bytes of one token's bits, with what parts it from the next."""
REWARD = 32
"""Bytes of a reward's label and sum."""
_PARTNERS = {"black": "white", "white": "black"}


def views(run: Unrolled) -> tuple[Bound, ...]:
    """The largest view of each ``elicit`` line, in line order."""
    largest, _ = _followed(run)
    return tuple(Bound(line, "view", tokens) for line, tokens in sorted(largest.items()))


def shown(run: Unrolled) -> dict[str, int]:
    """Tokens that each player was shown by the end of a play, without the code."""
    return dict(_followed(run)[1].tokens)


def _followed(run: Unrolled) -> tuple[dict[int, int], _Shown]:
    """The largest view by line, and what was shown by the end."""
    largest: dict[int, int] = {}
    shown = _Shown(Scale(run.program.dialect, run.metadata))
    in_lists = {kept.name for kept in held(run.program)} if shown.scale.dialect.aliases else set()
    code = len(to_text(canonicalise(run.program)).encode())
    for position in run.order:
        line = run.program.instructions[position]
        stored = shown.scale.store(line)
        for name, tokens in stored:
            if isinstance(line, syn.Elicit):
                view = code + shown.tokens[line.player] + _label(name)
                largest[position + 1] = max(largest.get(position + 1, 0), view)
                shown.tell(line.player, _label(name) + tokens)
            shown.keep(name, tokens, line.player if isinstance(line, syn.Elicit) else "")
            if name in in_lists:
                shown.keep_lists()
        shown.learn(line)
    return largest, shown


def _label(text: str) -> int:
    return len(text.encode()) + 4  # a canonical name may be longer by two; the colon, the line end


class _Shown:
    """Tokens that each player was shown by now."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self.revealed: set[tuple[str, str]] = set()
        for name, tokens in scale.sizes.items():
            self.keep(name, tokens)

    def tell(self, player: str, tokens: int) -> None:
        self.tokens[player] += tokens

    def keep(self, name: str, tokens: int, mover: str = "") -> None:
        """A register was set: shown to those in whose sight it is, and who was shown it once."""
        for player in syn.PLAYERS:
            public = name[0] in syn.PUBLIC_TYPES or player in syn.OMNISCIENT
            if player != mover and (public or (player, name) in self.revealed):
                self.tell(player, _label(name) + tokens)

    def keep_lists(self) -> None:
        """A register that lists may hold was set: what they show may have changed with it."""
        for name in syn.LIST_REGISTERS:
            if name in self.scale.sizes:
                self.keep(name, self.scale.sizes[name])

    def learn(self, line: syn.Instruction) -> None:
        """What a reveal and a reward show."""
        match line:
            case syn.Reveal(player, values):
                for value in values:
                    self.tell(player, _label(expression_text(value)) + self.scale.of(value))
                    if isinstance(value, syn.Register):
                        self.revealed.add((player, value.name))
            case syn.Reward(player, amount):
                xents = [term for _, term in amount.terms if isinstance(term, syn.Xent)]
                bits = sum(NUMBER * (self.scale.of(term.target) + 1) for term in xents)
                paid = {player, _PARTNERS.get(player, player)}
                for reader in {*paid, *syn.OMNISCIENT}:
                    self.tell(reader, len(paid) * (REWARD + bits))
