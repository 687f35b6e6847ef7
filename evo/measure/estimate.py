"""Estimated moves, tokens and dollars of a measuring run, before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evo.measure.folder import MeasureGame
from evo.measure.players import MeasuredPlayer, RemotePlayer
from xgl import analyse

BYTES_A_TOKEN = 3
"""Bytes of a program's text that make one token."""
RULES_TOKENS = 450
"""Tokens that a chat model reads in addition to its view."""
THOUGHT_TOKENS = 150
"""Tokens of a chat model's answer in addition to its move, without long thoughts."""


@dataclass(frozen=True)
class PlayEstimate:
    """Moves, and tokens of the player.

    ``most_new`` is what would be sampled if every chat answer went to its limit.
    """

    moves: int = 0
    prompt: int = 0
    new: int = 0
    most_new: int = 0

    def __add__(self, other: PlayEstimate) -> PlayEstimate:
        return PlayEstimate(
            self.moves + other.moves,
            self.prompt + other.prompt,
            self.new + other.new,
            self.most_new + other.most_new,
        )

    @property
    def tokens(self) -> int:
        """Number of tokens read and sampled."""
        return self.prompt + self.new


def estimate(
    player: MeasuredPlayer,
    member: MeasureGame,
    maps: int,
    rounds: int,
    window: int,
    control: bool = True,
) -> PlayEstimate:
    """Estimate of one player on one game: maps × (rounds + the control's rounds, one fewer).

    The k-th round shows k − 1 earlier ones, each all that its player was shown in a play, as far
    as ``window`` tokens hold them. Failed ensures and repeated requests are extra.
    """
    report = analyse(member.task.game.program, member.task.game.metadata)
    requests = [each for each in report.elicits if each.player == member.task.role]
    moves = sum(each.times for each in requests)
    limits = sum(each.times * each.max_len for each in requests)
    code = len(member.task.game.code.encode())
    largest = max((view.tokens for view in report.views), default=code) - code
    view, again = code // BYTES_A_TOKEN + largest, report.shown_tokens.get(member.task.role, 0)
    chat = isinstance(player, RemotePlayer)
    prompts = sum(
        (1 if number == 1 or not control else 2) * min(window, view + (number - 1) * again)
        for number in range(1, rounds + 1)
    )
    plays = maps * (2 * rounds - 1 if control else rounds)
    new = plays * (limits + (THOUGHT_TOKENS * moves if chat else 0))
    most = (
        plays * moves * player.settings.answer_tokens if isinstance(player, RemotePlayer) else new
    )
    extra = plays * moves * RULES_TOKENS if chat else 0
    return PlayEstimate(plays * moves, maps * moves * prompts + extra, new, max(new, most))


def dollars(player: MeasuredPlayer, total: PlayEstimate) -> tuple[float, float] | None:
    """Expected dollars, and dollars with every answer at its limit; None without prices."""
    if not isinstance(player, RemotePlayer) or not player.settings.prices:
        return None
    prices = player.settings.prices
    return prices.of(total.prompt, total.new), prices.of(total.prompt, total.most_new)


def describe(player: MeasuredPlayer, parts: Sequence[PlayEstimate]) -> str:
    """One line for a person."""
    total = sum(parts, PlayEstimate())
    line = f"{player.name}: {total.moves:,} moves, about {total.tokens:,} tokens"
    costs = dollars(player, total)
    if costs is None:
        return line
    return f"{line}, about ${costs[0]:,.2f} (${costs[1]:,.2f} if every answer went to its limit)"
