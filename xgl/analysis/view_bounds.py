"""Static facts of each request for a move: the size of the view that its player reads.

A view is the code and a line for each thing that the player was shown
(``xgl.runtime.presentation``). The bound is in judge tokens while no ensure fails; code, labels
and numbers count a token a byte.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from xgl.analysis.request_bounds import Bound, Form, Scale, UnrolledProgram
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata, game
from xgl.language.unparse import expression_text
from xgl.language.visitors import listed_registers

NUMBER = 8
"""Bytes of one token's bits, with the separator."""
REWARD = 32
"""Bytes of a reward's label and sum."""


def views(run: UnrolledProgram) -> tuple[Bound, ...]:
    """The largest view of each ``elicit`` line, in line order."""
    largest, _ = _follow(run)
    return tuple(Bound(line, "view", tokens) for line, tokens in sorted(largest.items()))


def shown_tokens(run: UnrolledProgram) -> dict[str, int]:
    """Tokens that each player was shown by the end of a play, without the code."""
    return dict(_follow(run)[1].tokens)


def _follow(run: UnrolledProgram) -> tuple[dict[int, int], _ShownTokens]:
    """The largest view by line, and the tokens shown by the end."""
    program, largest = run.program, dict[int, int]()
    counter = _ShownTokens(program, run.metadata)
    code = len(game(program, run.metadata).shown.encode())
    for position in run.order:
        line = program.instructions[position]
        if isinstance(line, syn.Elicit):
            view = code + counter.ask(line)
            largest[position + 1] = max(largest.get(position + 1, 0), view)
            continue
        for name, tokens in counter.scale.store(line):
            counter.keep(name, _label(name) + tokens)
            if name in counter.in_lists:
                counter.keep_lists(1)
        counter.learn(line)
    return largest, counter


def _label(text: str) -> int:
    return len(text.encode()) + 4  # a canonical name may be longer by two; the colon, the line end


class _ShownTokens:
    """Tokens that each player was shown so far."""

    def __init__(self, program: syn.Program, metadata: Metadata) -> None:
        self.scale = Scale(program.dialect, metadata)
        aliases = self.scale.dialect.aliases
        self.in_lists = {item.name for item in listed_registers(program)} if aliases else set()
        """The registers that lists may hold themselves."""
        self.tokens: defaultdict[str, int] = defaultdict(int)
        self._viewers = {
            name: dict.fromkeys(syn.viewers(name)) for name in (*syn.REGISTERS, *syn.LIST_REGISTERS)
        }
        self._lines: dict[int, list[tuple[int, Form]]] = {}
        for name, tokens in self.scale.sizes.items():
            self.keep(name, _label(name) + tokens)

    def keep(self, name: str, tokens: int, mover: str = "") -> None:
        """Count a register that was set for the players who see it."""
        for player in self._viewers[name]:
            if player != mover:
                self.tokens[player] += tokens

    def keep_lists(self, times: int) -> None:
        """Count all lists, whose text may change when a register that they hold is set."""
        for name in syn.LIST_REGISTERS:
            if name in self.scale.sizes:
                self.keep(name, times * (_label(name) + self.scale.sizes[name]))

    def ask(self, line: syn.Elicit) -> int:
        """Count the moves of a line; returns the tokens that its player sees when it is asked for
        the last register, its largest view at this line."""
        *earlier, last = self.scale.store(line)
        for (name, tokens), times in Counter(earlier).items():
            self._keep_move(name, tokens, line.player, times)
        view = self.tokens[line.player] + _label(last[0])
        self._keep_move(*last, line.player, 1)
        return view

    def _keep_move(self, name: str, tokens: int, mover: str, times: int) -> None:
        size = times * (_label(name) + tokens)
        self.tokens[mover] += size
        self.keep(name, size, mover)
        if name in self.in_lists:
            self.keep_lists(times)

    def learn(self, line: syn.Instruction) -> None:
        """Count what a reveal or a reward shows."""
        match line:
            case syn.Reveal(player, values):
                for own, form in self._forms(line):
                    self.tokens[player] += own + self.scale.tokens(form)
                for value in values:
                    if isinstance(value, syn.Register):
                        self._viewers[value.name].setdefault(player)
            case syn.Reward(player):
                bits = self._token_bits(line)
                payees = {player, syn.PARTNERS.get(player, player)}
                for reader in {*payees, *syn.OMNISCIENT}:
                    self.tokens[reader] += len(payees) * (REWARD + bits)

    def _token_bits(self, line: syn.Reward) -> int:
        """Tokens of the bits that are shown next to a reward's sum."""
        if not self.scale.metadata.token_bits:
            return 0
        return sum(NUMBER * (self.scale.tokens(form) + 1) for _, form in self._forms(line))

    def _forms(self, line: syn.Reveal | syn.Reward) -> list[tuple[int, Form]]:
        """The items that a line shows: the tokens of each label and the bound of each text."""
        if id(line) not in self._lines:
            if isinstance(line, syn.Reveal):
                labels = [_label(expression_text(value)) for value in line.values]
                nodes: list[object] = list(line.values)
            else:
                nodes = [t.target for _, t in line.amount.terms if isinstance(t, syn.Xent)]
                labels = [0] * len(nodes)
            self._lines[id(line)] = list(zip(labels, map(self.scale.form, nodes), strict=True))
        return self._lines[id(line)]
