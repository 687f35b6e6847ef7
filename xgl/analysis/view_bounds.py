"""Static facts of each request for a move: how large the view gets that its player reads.

A view is the code and a line for each thing that the player was shown
(``xgl.runtime.presentation``). The bound is in judge tokens while no ensure fails; code, labels
and numbers count a token a byte.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from xgl.analysis.request_bounds import Bound, Form, Scale, Unrolled
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata, canonicalise
from xgl.language.unparse import expression_text, to_text
from xgl.language.visitors import listed_registers

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
    program, largest = run.program, dict[int, int]()
    shown = _Shown(program, run.metadata)
    code = len(to_text(canonicalise(program)).encode())
    for position in run.order:
        line = program.instructions[position]
        if isinstance(line, syn.Elicit):
            view = code + shown.ask(line)
            largest[position + 1] = max(largest.get(position + 1, 0), view)
            continue
        for name, tokens in shown.scale.store(line):
            shown.keep(name, _label(name) + tokens)
            if name in shown.in_lists:
                shown.keep_lists(1)
        shown.learn(line)
    return largest, shown


def _label(text: str) -> int:
    return len(text.encode()) + 4  # a canonical name may be longer by two; the colon, the line end


class _Shown:
    """Tokens that each player was shown by now."""

    def __init__(self, program: syn.Program, metadata: Metadata) -> None:
        self.scale = Scale(program.dialect, metadata)
        aliases = self.scale.dialect.aliases
        self.in_lists = {item.name for item in listed_registers(program)} if aliases else set()
        """The registers that lists may hold themselves."""
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self._viewers = {name: _viewers(name) for name in (*syn.REGISTERS, *syn.LIST_REGISTERS)}
        self._lines: dict[int, list[tuple[int, Form]]] = {}
        for name, tokens in self.scale.sizes.items():
            self.keep(name, _label(name) + tokens)

    def keep(self, name: str, tokens: int, mover: str = "") -> None:
        """A register was set: shown to those in whose sight it is, and who was shown it once."""
        for player in self._viewers[name]:
            if player != mover:
                self.tokens[player] += tokens

    def keep_lists(self, times: int) -> None:
        """A register that lists may hold was set: what they show may have changed with it."""
        for name in syn.LIST_REGISTERS:
            if name in self.scale.sizes:
                self.keep(name, times * (_label(name) + self.scale.sizes[name]))

    def ask(self, line: syn.Elicit) -> int:
        """Take in the moves of a line; tokens that its player was shown when it was asked for
        the last of its registers, which is when it was shown most."""
        *earlier, last = self.scale.store(line)
        for (name, tokens), times in Counter(earlier).items():
            self._keep_move(name, tokens, line.player, times)
        view = self.tokens[line.player] + _label(last[0])
        self._keep_move(*last, line.player, 1)
        return view

    def _keep_move(self, name: str, tokens: int, mover: str, times: int) -> None:
        seen = times * (_label(name) + tokens)
        self.tokens[mover] += seen
        self.keep(name, seen, mover)
        if name in self.in_lists:
            self.keep_lists(times)

    def learn(self, line: syn.Instruction) -> None:
        """What a reveal and a reward show."""
        match line:
            case syn.Reveal(player, values):
                for own, form in self._forms(line):
                    self.tokens[player] += own + self.scale.tokens(form)
                for value in values:
                    if isinstance(value, syn.Register):
                        self._viewers[value.name].setdefault(player)
            case syn.Reward(player):
                bits = self._token_bits(line)
                paid = {player, _PARTNERS.get(player, player)}
                for reader in {*paid, *syn.OMNISCIENT}:
                    self.tokens[reader] += len(paid) * (REWARD + bits)

    def _token_bits(self, line: syn.Reward) -> int:
        """Tokens of the bits that stand beside a reward's sum."""
        if not self.scale.metadata.token_bits:
            return 0
        return sum(NUMBER * (self.scale.tokens(form) + 1) for _, form in self._forms(line))

    def _forms(self, line: syn.Reveal | syn.Reward) -> list[tuple[int, Form]]:
        """What a line shows: its label's tokens and its bound."""
        if id(line) not in self._lines:
            if isinstance(line, syn.Reveal):
                labels = [_label(expression_text(value)) for value in line.values]
                nodes: list[object] = list(line.values)
            else:
                nodes = [t.target for _, t in line.amount.terms if isinstance(t, syn.Xent)]
                labels = [0] * len(nodes)
            self._lines[id(line)] = list(zip(labels, map(self.scale.form, nodes), strict=True))
        return self._lines[id(line)]


def _viewers(name: str) -> dict[str, None]:
    """Who sees a register whenever it is set, in order."""
    return dict.fromkeys(syn.PLAYERS if name[0] in syn.PUBLIC_TYPES else syn.OMNISCIENT)
