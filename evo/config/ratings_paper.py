"""Settings of ``+experiment=ratings_paper``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Strict

from evo.config.schema import NamedRun
from xgl.settings import Count, Natural, NonNegative, Role, settings

NAME = "ratings_paper"
Several = Annotated[int, Strict(), Field(ge=2)]
Copies = Annotated[tuple[Natural, ...], Field(min_length=1)]


@settings
class PathConfig:
    """The simulated path of improvement, the ratings paper's first figure. Of these settings the
    paper states only ``candidates``."""

    skills: Several = 4
    """K, the number of skills."""
    prompts: Count = 8
    """P0: prompts at the start."""
    models: Several = 8
    """M0: models at the start."""
    candidates: Count = 64
    """P′: candidate prompts in each iteration, of which the best rated enters."""
    improvements: Count = 16
    """M′: improvement vectors in each step, of which the best rated is added."""
    iterations: Count = 15
    """Models that enter, one after the other."""


@settings
class RedundancyConfig:
    """Redundant tasks against the model that leads under Elo (that paper's figures 3 and 11), on
    synthetic preferences, since the paper's are not public."""

    lead: NonNegative = 0.02
    """By how much model 0 is better on every task. With the default it is first at equilibrium
    too, and yet beaten on many tasks, as the paper's target is."""
    trials: Annotated[Natural, Role.RESUMABLE] = 1
    """Draws of skills and judgements."""
    tasks: Count = 500
    """Number of tasks; the default is the paper's number of prompts."""
    models: Several = 17
    """Number of models; the default is the paper's."""
    judgements: Count = 8
    """Noisy verdicts, of which a preference is the mean."""
    sharpness: NonNegative = 10.0
    """λ: copies are drawn from softmax(−λ ū) of the model's mean preference ū."""
    copies: Copies = (0, 250, 500)
    """Exact copies added to the tasks."""
    near_copies: Copies = (250, 500, 1000)
    """Copies whose payoffs differ by up to ``jitter``."""
    jitter: NonNegative = 0.01
    """Largest change of a near copy's payoff."""


@settings
class RatingsPaperConfig:
    """The ratings paper's experiments."""

    trials: Annotated[Count, Role.RESUMABLE] = 8
    """Paths of improvement of each kind; the paper's: 32."""
    workers: Annotated[Count | None, Role.RESUMABLE] = None
    """Processes; null: one for each core."""
    path: PathConfig = PathConfig()
    redundancy: RedundancyConfig = RedundancyConfig()


@settings
class RatingsPaperRunConfig(NamedRun):
    """Everything that the ratings paper's experiments depend on."""

    experiment: Literal["ratings_paper"]
    """Name of the experiment."""
    ratings_paper: RatingsPaperConfig = RatingsPaperConfig()
