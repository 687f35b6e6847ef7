"""Expected durations of requests, in tokens that the player reads and writes.

The virtual order of a run (``evo.growth.virtual_order``) is computed from them, so they depend only
on settings and on calibration plays, never on a clock. The closer they are to real durations, the
less real workers wait for the virtual ones. The constants were fitted on the jobs of three growths
on two cores (docs/growth.md).
"""

from __future__ import annotations

import math

from evo.config.models import FinetuneConfig
from evo.config.schema import RunConfig
from evo.record.requests import PlayRequest, Request, TrainingRequest

UNKNOWN_TOKENS = 100.0
"""Tokens of one play of a game that is not calibrated yet."""
JUDGED_PLAY = 70.0
"""Time of an evaluated play beyond that of its tokens: the judge, with permuted moves too."""
SCRIPTED_PLAY = 65.0
"""Time of a script's play: the judge alone."""
TRAINED_TOKEN = 1.45
"""Time of a token of a fine-tune: sampling, the judge, and the gradient."""


def duration(request: Request, tokens: float | None, config: RunConfig) -> float:
    """Duration of a request on a game whose plays have ``tokens`` on average (None: not known)."""
    match request:
        case PlayRequest():
            return len(request.seeds) * play_duration(tokens, request.scripted)
        case TrainingRequest():
            return training_duration(config.finetune, tokens)
    few = config.playability
    return 2 * few.few_shot_rounds * few.few_shot_maps * play_duration(tokens)


def play_duration(tokens: float | None, scripted: bool = False) -> float:
    """Duration of one play."""
    return SCRIPTED_PLAY if scripted else JUDGED_PLAY + _known(tokens)


def training_duration(settings: FinetuneConfig, tokens: float | None) -> float:
    """Duration of a fine-tune: its budget of tokens, or less if the plays of its rounds and steps
    need less. At most half of the budget is for the rounds of the warm start."""
    if settings.steps is None:
        return TRAINED_TOKEN * settings.tokens
    budget, warm = settings.tokens or math.inf, settings.warm_start
    warm_plays = warm.rounds * (warm.maps * warm.rollouts + warm.demonstrations)
    needed = min(warm_plays * _known(tokens), budget / 2)
    needed += settings.steps * settings.maps * settings.rollouts * _known(tokens)
    return TRAINED_TOKEN * min(needed, budget)


def _known(tokens: float | None) -> float:
    return UNKNOWN_TOKENS if tokens is None else tokens
