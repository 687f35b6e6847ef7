"""Meta-samplers by name, and several at once: each request for candidates goes to one of them,
chosen by what the candidates of each came to.

The rule is kl-UCB (Garivier and Cappé, The KL-UCB Algorithm for Bounded Stochastic Bandits and
Beyond, COLT 2011): the sampler with the largest mean credit p that n decided candidates of its own
do not exclude, n · kl(its mean, p) ≤ ln N for N decided of all. Few candidates join, and at such
rates UCB1, which takes all credits as spread over [0, 1], draws all samplers about equally often.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from scipy.optimize import brentq
from scipy.special import rel_entr

from meta_sampler.base import MetaSampler, Outcome, Proposal, SamplerError
from meta_sampler.mutate import Mutate
from meta_sampler.settings import SETTINGS, Caps
from xgl.chat.settings import Usage
from xgl.language.canonical import Game
from xgl.language.syntax import MAIN_PLAYER
from xgl.models.resolve import resolve


class Portfolio(MetaSampler):
    """A sampler of others, by name."""

    def __init__(self, members: Mapping[str, MetaSampler]) -> None:
        self.members = dict(members)
        self._trials = dict.fromkeys(self.members, 0.0)
        self._credits = dict.fromkeys(self.members, 0.0)

    def ranking(self, seed: int) -> list[str]:
        """The samplers, the one that is to propose first: those without a decided candidate in
        random order, then the others by kl-UCB."""
        names, every = list(self.members), sum(self._trials.values())
        Random(f"portfolio/{seed}").shuffle(names)

        def upper_bound(name: str) -> float:
            own, credit = self._trials[name], self._credits[name]
            return largest_mean(credit / own, math.log(every) / own) if own else math.inf

        return sorted(names, key=upper_bound, reverse=True)

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = MAIN_PLAYER
    ) -> list[Proposal]:
        """Proposals of the samplers of the ranking, up to the first that has a game."""
        proposals: list[Proposal] = []
        for name in self.ranking(seed):
            proposals += self.members[name].propose(parent, scope, n, seed, role)
            if any(each.game for each in proposals):
                break
        return proposals

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Credit each outcome to the sampler that made the game, and tell it."""
        for name, member in self.members.items():
            own = [outcome for outcome in outcomes if outcome.sampler == name]
            self._trials[name] += len(own)
            self._credits[name] += sum(outcome.progress.value for outcome in own)
            member.observe(own)

    def check(self) -> None:
        for member in self.members.values():
            member.check()

    def charge(self, sampler: str, tokens: int, dollars: float) -> None:
        if sampler in self.members:
            self.members[sampler].charge(sampler, tokens, dollars)

    def spent(self) -> Usage:
        return sum((member.spent() for member in self.members.values()), Usage())


def largest_mean(mean: float, divergence: float) -> float:
    """Largest p with kl(mean, p) ≤ divergence, in nats, of Bernoulli distributions."""

    def excess(p: float) -> float:
        return float(rel_entr(mean, p) + rel_entr(1 - mean, 1 - p)) - divergence

    return float(brentq(excess, mean, 1 - 1e-12)) if excess(1 - 1e-12) > 0 else 1.0


def make(name: str, settings: Caps | Mapping[str, Any] | None = None) -> MetaSampler:
    """The meta-sampler ``name``, from its settings or plain values for them.

    ``local`` needs torch and llguidance, ``chat`` needs httpx2 and its key in the environment.
    Raises :class:`SamplerError` for an unknown name, :class:`~xgl.errors.ConfigError` for an
    unknown key or an impossible value, :class:`~xgl.errors.ModelNotFoundError` for a model that is
    not available.
    """
    if name not in SETTINGS:
        names = ", ".join(sorted(SETTINGS))
        raise SamplerError(f"unknown meta-sampler {name!r}, expected one of: {names}")
    values: Any = settings if isinstance(settings, Caps) else SETTINGS[name](**(settings or {}))
    match name:
        case "local":
            from meta_sampler.local import Local

            resolve(values.model, "meta_sampler.settings.model")
            return Local(values)
        case "chat":
            from meta_sampler.chat import Chat

            return Chat(values)
        case "mutate":
            return Mutate(values)
    return Portfolio({each: make(each, own) for each, own in values.members().items()})
