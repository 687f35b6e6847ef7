"""The configuration schema: the settings of each group, and of a run on language models; those of
the models themselves are in :mod:`evo.config.models`.

Each field declares its type, bounds, default and meaning; Hydra's groups, the checks and the tables
in docs/reference/configuration.md come from these declarations.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, Strict, ValidationInfo, field_validator

from evo.config import MODEL_RUNS, models
from evo.config.models import FinetuneConfig, JudgeConfig, PlayerConfig, Several
from meta_sampler.settings import SETTINGS, Caps, MutateSettings
from xgl.errors import ConfigError
from xgl.files import user_path
from xgl.language.canonical import MOST_SIZE, Failures, StoryCount
from xgl.models.references import check_share
from xgl.settings import (
    Count,
    Flag,
    Fraction,
    Natural,
    NonNegative,
    Positive,
    PositiveShare,
    Role,
    Share,
    science,
    settings,
    value_text,
)

Confidence = Annotated[float, Strict(), Field(gt=0.5, lt=1)]
Seed = Annotated[int, Strict(), Field(ge=0, lt=2**63)]
WindowSize = Annotated[int, Strict(), Field(ge=1, le=MOST_SIZE)]
ModelRun = Literal[*MODEL_RUNS]  # type: ignore[valid-type]  # a checker takes no computed names


@settings
class GameConfig:
    """Dialect and metadata of all games of a run."""

    dialect: Literal["xent", "paper"] = "xent"
    """Dialect of the games that the search makes: xent (first token unscored, + joins) or paper."""
    story_tokens: WindowSize = 24
    """Length of story() in judge tokens."""
    max_len: WindowSize = 8
    """Move limit, in judge tokens, of an elicit that sets none; in games made outside a run it is
    10."""
    max_failures: Failures = 10
    """Failed ensures that a player may have in one play; one more is a forfeit."""
    max_characters: WindowSize = 4096
    """Most characters of a register; a play that needs more ends as oversize."""
    story_count: StoryCount = 0
    """Different maps for training, and as many for evaluation; 0: no limit."""
    constants: dict[str, str] = Field(default_factory=dict)
    """Texts of the registers a, b, c, which a game's own metadata override."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """Prompts by which registers a, b, c are filled on each map."""
    token_bits: Flag = False
    """Whether a player that moves again sees the bits of each token that a reward paid, as in the
    paper. false: it sees only their sum, and its next view is half as long. Games made outside a
    run show the bits of each token."""


def _check_looks(plays: tuple[int, ...]) -> tuple[int, ...]:
    if not plays or sorted(set(plays)) != [*plays] or plays[0] < 2:
        raise ValueError(f"found {value_text(plays)}, expected rising counts of at least 2")
    return plays


BLOCK = 64
"""Most plays of one policy on one game in one job."""
LookCounts = Annotated[tuple[Annotated[int, Strict()], ...], AfterValidator(_check_looks)]


@settings
class TransferConfig:
    """Which value decides, on how many plays, with what confidence."""

    definition: Literal["captured", "def37"] = "captured"
    """Which value decides: captured (C) or def37 (V); both are archived."""
    gain: Literal["total", "specific"] = "specific"
    """Which gain the values compare: total; or specific: the total gain minus the gain of permuted
    moves, which is the part about the map."""
    rule: Literal["cross_ratio", "values"] = "cross_ratio"
    """Conditions of acceptance: cross_ratio: those of this release; values: only own gain (of the
    kind transfer.gain), help and γ."""
    calibration_plays: Several = 16
    """Plays of the base player that fix a game's floor and show whether it can be played."""
    selection_plays: LookCounts = (32, 96)
    """Plays of each policy at each look of the selection, cumulative."""
    script_plays: Several = 16
    """Plays of each scripted player before a fine-tune, at most those of the first look of the
    selection. Candidates that may be promising and accepted games get more."""
    headroom: NonNegative | None = 1.0
    """Bits a play that scripts must gain by looking at the map: the best script's score minus that
    of the best one with moves made for other maps. Other candidates are refused without a
    fine-tune; null: no such check."""
    acceptance_plays: LookCounts = (96, 192)
    """Fresh plays of each policy at each look of the acceptance test, cumulative."""
    scan: Count = 8
    """Games of the scope whose adapters play a candidate first, the likeliest to cover it; each
    further step has twice as many, until one covers it."""
    confidence: Confidence = 0.95
    """Confidence of every decision; its error is shared over looks, over the acceptance tests of a
    list and, where γ refuses, over the scope."""
    attempts: Count = 2
    """Most fine-tunes of a candidate, each with its own training seed. There is another if the last
    one learned nothing although looking at the map surely pays (transfer.headroom; without it:
    always)."""
    scope_attempts: Count = 3
    """Most fine-tunes of a game of the scope, those before it was proposed for counted as one.
    There is another if it is not clear what the last one learned, or if a candidate teaches more of
    the game than that fine-tune learned, beyond noise. γ is the largest value of all of them. Not
    with rule=values."""
    max_forfeit_rate: Share = 0.25
    """Largest share of plays that the base player may leave unfinished; games with more are
    refused."""
    min_steps: Natural = 5
    """Steps that finetune.tokens must pay for; games whose retries or long plays leave
    fewer are refused, and a fine-tune that made fewer is not repeated."""
    confirmations: Count = 5
    """Most acceptance tests for the candidates of one list, which share its error. Candidates that
    are likeliest to pass come first (growth.schedule=paper: those with the smallest γ)."""

    def __post_init__(self) -> None:
        edges = list[tuple[int, int]]()
        for plays in (self.selection_plays, self.acceptance_plays):
            looks = {*plays, self.script_plays}
            ends = (each // BLOCK * BLOCK + more for each in looks for more in (0, BLOCK))
            edges += pairwise(sorted(looks.union(ends)))
        for one, other in edges:
            if other - one == 1:  # a play alone would be its own control
                raise ValueError(
                    f"selection_plays, acceptance_plays, script_plays: found plays that end at "
                    f"{one} and {other} (each {BLOCK}th is an end), expected at least two between"
                )


@settings
class PlayabilityConfig:
    """Filters on calibrated games, before they cost a fine-tune."""

    best_kept: Share = 0.5
    """ε-well-posed (Def. 30): least share of calibration maps on which clipping keeps the best
    move, of ordinary ones and of random tokens. Games surely below it are refused; 0: no such
    check."""
    few_shot_rounds: Natural = 0
    """Rounds of the base player on each map, which show whether a game is playable in few-shot mode
    (Def. 33); 0: no such check."""
    few_shot_maps: Several = 32
    """N: maps of this check, the first calibration maps."""
    few_shot_steps: Count = 2
    """m: rounds after the first; arms must increase at each of them."""
    few_shot_epsilon: Fraction = 0.05
    """ε: probability that arms may fail to increase."""

    def __post_init__(self) -> None:
        if 0 < self.few_shot_rounds <= self.few_shot_steps:
            raise ValueError(
                f"few_shot_rounds: found {self.few_shot_rounds}, expected 0 or more than "
                f"few_shot_steps ({self.few_shot_steps})"
            )


@settings
class GrowthSettings:
    """Parameters of Algorithm 1."""

    alpha1: Positive
    """A candidate must give its parent at least this transfer value."""
    alpha2: Fraction
    """No known game may give the candidate more than 1 − α2."""
    generations: Count
    """Most generations."""
    list_size: Count
    """Candidates in one list of the meta-sampler."""
    max_candidates: Count | None = None
    """Candidates decided in the whole run, accepted or refused; null: no limit."""
    coverage_against: Literal["scope_and_pending", "scope"] = "scope_and_pending"
    """Games that γ is computed over: scope_and_pending: Σ_k and what this generation accepted so
    far; or scope: literally Algorithm 1, in which nothing stops a parent from accepting near-copies
    without end."""
    max_accepts_per_parent: Count | None = None
    """Most games accepted from one parent; null: no limit."""

    def __post_init__(self) -> None:
        if self.coverage_against == "scope" and self.max_accepts_per_parent is None:
            raise ValueError(
                "max_accepts_per_parent: found null, expected a number, because with "
                "coverage_against=scope nothing else ends a parent's list"
            )


@settings
class GrowthConfig(GrowthSettings):
    """Scope growth: schedule, thresholds, lists, the initial scope."""

    schedule: Literal["open_ended", "paper"] = "open_ended"
    """Order of the questions: open_ended; or paper: literally Algorithm 1. Only paper uses
    generations, coverage_against and max_accepts_per_parent."""
    alpha1: Positive = 0.3
    alpha2: Fraction = 0.2
    generations: Annotated[Count, Role.RESUMABLE] = 3
    list_size: Count = 22
    max_candidates: Count | None = 132
    max_accepted: Annotated[Count | None, Role.RESUMABLE] = 1
    """Open-ended: the run ends when this many games have joined, and goes on from there when it is
    resumed with more; null: no limit."""
    lookahead: Count = 1
    """Open-ended: another list is opened when at most this many candidates are being screened or
    examined; with one less than growth.virtual_workers, no worker waits for candidates."""
    virtual_workers: Count = 2
    """Open-ended: jobs that are assumed to run at a time when the order of results is fixed,
    whatever the workers do. With as many as workers, none waits for a result to be examined.
    Results depend on it."""
    least_yield: NonNegative = 1.0
    """Open-ended: the run ends when surely fewer games than this join the scope in a core-hour; 0:
    never."""
    examined_share: PositiveShare = 0.25
    """Open-ended: largest share of each list, rounded, that is fine-tuned: candidates that scripted
    players and the scope's fine-tunes expect to help and not to be covered. 1: all that hold
    something to learn."""
    novelty: Flag = False
    """Prefer proposals that are paid for other texts than all candidates before them: of twice as
    many as a list needs, those whose objective is rarest are taken."""
    first_rung: PositiveShare = 1.0
    """Share of a fine-tune's budget (tokens and steps) at which a candidate's pauses. What learned
    nothing by then is refused; nothing else is. All others go on to the whole budget, which every
    comparison with the scope is made at. 1: no pause."""
    initial_scope: Annotated[tuple[str, ...], Field(min_length=1)] = ("rival",)
    """Game files (.xgl or .xent) or names of the library, each with its main player after a colon
    (message:bob); without one, black or the only player that moves."""
    initial_attempts: Count = 4
    """Most fine-tunes of an initial game, each with its own training seed, until one improves the
    game clearly; the last one counts if it improves the game at all."""
    eta: Share = 0.3
    """η of the cover that is archived with each scope and learned as a curriculum; no decision
    depends on it."""
    unplayable_initial: Literal["stop", "keep"] = "stop"
    """What follows if fine-tuning does not improve an initial game: stop: the run ends; keep: the
    run goes on, with the game in the archive but not in the scope; then no list is opened before
    all initial games are learned."""


@settings
class MetaSamplerConfig:
    """What proposes games, and its settings."""

    name: Literal["mutate", "local", "chat", "portfolio"] = "mutate"
    """Name of the meta-sampler, which meta_sampler=NAME sets."""
    settings: Caps = MutateSettings()
    """Its settings: the table of the sampler below."""

    @field_validator("settings", mode="before")
    @classmethod
    def _of_the_sampler(cls, values: Any, info: ValidationInfo) -> Any:
        if "name" not in info.data:  # which is the mistake to tell
            return MutateSettings()
        return SETTINGS[info.data["name"]](**values) if isinstance(values, Mapping) else values


@settings
class ArchiveRoot:
    """Folder of the runs."""

    root: Annotated[str, Field(min_length=1)] = "runs"
    """Folder that holds the run folders."""


@settings
class ClusterConfig:
    """Ray: its address, workers, shares of GPUs."""

    address: str | None = None
    """null: a local Ray; auto or an address: join that cluster."""
    workers: Count | None = None
    """Actors that fine-tune and play; null: one for each core of the cluster, at most 8."""
    gpus_per_worker: NonNegative = 0.0
    """Share of a GPU for each worker, its player and its judge; 0: workers run on CPU; 2 or more:
    the judge on the first, the player on the others (judge.device, player.device). A new run on a
    machine with GPUs gets one worker for each, with matching settings, unless this is set."""

    def __post_init__(self) -> None:
        if (share := self.gpus_per_worker) > 1 and share % 1:
            raise ValueError(
                f"gpus_per_worker: found {share:g}, expected at most 1, or a whole number"
            )


@settings
class PaidBudget:
    """Limits on what a run spends in total, over all its sessions."""

    tokens: Count | None = None
    """Tokens of the player and of the meta-sampler; null: no limit."""
    dollars: Positive | None = None
    """Cost of models behind an API, in dollars; null: no limit."""


@settings
class BudgetConfig(PaidBudget):
    """Limits on what a run spends in total, over all its sessions; they decide only where it
    ends."""

    seconds: Positive | None = None
    """Seconds of work, summed over workers and meta-sampler; null: no limit."""


HELD_OUT = (
    "fig_3_01_single_text",
    "fig_3_01_multi_texts",
    "fig_3_03_one_way_cut",
    "fig_3_03_unrelated_prefixes",
    "fig_3_03_one_way_explanations",
    "fig_4_02_dex_texts",
)
"""Programs of the paper on which fine-tuning has a specific gain, and with which no growth
begins."""


@settings
class CurriculumConfig:
    """Players trained on several games together (+experiment=curriculum)."""

    run: Annotated[str | None, Role.RESUMABLE] = None
    """Run folder of the growth whose games are learned; a resumed run finds it where it lies
    now."""
    seeds: Annotated[Count, Role.RESUMABLE] = 3
    """Training seeds of each curriculum; a resumed run may add more."""
    held_out: Annotated[tuple[str, ...], Field(min_length=1)] = HELD_OUT
    """Games of the library that each player plays before and after training, read in
    game.dialect."""


DEFAULT_NAME = "${experiment}-seed${seed}"
"""Of a run; Hydra puts the values in."""


def _check_name(name: str) -> str:
    plain = Path(name).name == name and name not in ("", ".", "..")
    if name != DEFAULT_NAME and (name.startswith("~") or "$" in name):
        # typed again as a path, it would be another folder
        raise ValueError(f"found {value_text(name)}, expected a name without ~ before and $ in it")
    if not plain or len(os.fsencode(name)) > 240:  # others are beside it
        raise ValueError(f"found {value_text(name)}, expected a folder's name, without the path")
    return name


RunName = Annotated[str, AfterValidator(_check_name)]

MAPPINGS = (
    *("judge.others", "game.constants", "game.prompts", "meta_sampler.settings.extra_body"),
    *("measure.others", "measure.chat.prices", "measure.chat.extra_body"),
    *("ggbench.chat.prices", "ggbench.chat.extra_body"),
)
"""Settings whose keys are names of the user, which no default can name."""


@settings
class AnyRun:
    """Settings of all runs."""

    experiment: str
    """Name of the experiment; set by +experiment=NAME."""
    seed: Seed = 0
    """Every other seed is derived from it."""
    archive: Annotated[ArchiveRoot, Role.FOLDER] = ArchiveRoot()

    facts: ClassVar[tuple[str, ...]] = ()
    """Keys that stand beside the archived settings and are none."""

    @staticmethod
    def words(words: Sequence[str]) -> Sequence[str]:
        """A command line as Hydra takes it: what is short for other keys is written out, and keys
        of mappings are added, as they are in no default."""
        return [f"++{word}" if word.startswith(MAPPINGS) else word for word in words]

    @staticmethod
    def found_here(words: Sequence[str]) -> Sequence[str]:
        """Settings of a new run that follow from this machine, to stand before its own words."""
        return ()

    def check_resumed(self, began: Self) -> None:
        """Raises :class:`ConfigError` for a change on a resume that its key alone does not tell."""

    def science_hash(self) -> str:
        """Hash of the settings that results depend on, 16 hex digits."""
        text = json.dumps(science(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@settings
class NamedRun(AnyRun):
    """Settings of all runs that are named after their experiment and seed."""

    name: Annotated[RunName, Role.FOLDER] = DEFAULT_NAME
    """Run folder below archive.root."""

    @property
    def folder(self) -> Path:
        return user_path(self.archive.root) / self.name


@settings
class RunConfig(NamedRun):
    """Everything that a run depends on: ``cluster`` says where it runs, ``budget`` how far, and all
    else what it computes."""

    facts = ("stories_digest",)
    experiment: ModelRun
    """Name of the experiment; set by +experiment=NAME."""
    judge: JudgeConfig = JudgeConfig()
    player: PlayerConfig = PlayerConfig()
    game: GameConfig = GameConfig()
    finetune: FinetuneConfig = FinetuneConfig()
    transfer: TransferConfig = TransferConfig()
    playability: PlayabilityConfig = PlayabilityConfig()
    growth: GrowthConfig = GrowthConfig()
    meta_sampler: MetaSamplerConfig = MetaSamplerConfig()
    curriculum: CurriculumConfig = CurriculumConfig()
    cluster: Annotated[ClusterConfig, Role.RESUMABLE] = ClusterConfig()
    budget: Annotated[BudgetConfig, Role.RESUMABLE] = BudgetConfig()

    def __post_init__(self) -> None:
        devices = {"judge": self.judge.device, "player": self.player.device}
        check_share(self.cluster.gpus_per_worker, **devices)
        first, most = self.growth.first_rung, 1 - self.finetune.averaged_share
        if most < first < 1:
            raise ValueError(
                f"growth.first_rung: found {first:g}, expected 1, or at most {most:g}, where the "
                "steps begin that finetune.averaged_share takes the mean of"
            )

    def check_resumed(self, began: Self) -> None:
        """Numbers that the hardware chooses stay those of the run's beginning."""
        own, before = self.cluster.gpus_per_worker, began.cluster.gpus_per_worker
        if (own > 0) != (before > 0) and "auto" in (self.judge.dtype, self.player.dtype):
            kept = "more than 0" if before else "0"
            raise ConfigError(
                f"cluster.gpus_per_worker: found {own:g}, expected {kept}, as the run began: dtype "
                "auto is another on a GPU"
            )

    @staticmethod
    def found_here(words: Sequence[str]) -> Sequence[str]:
        return (*models.settings_for(*models.find_gpus(), words), *models.reward_settings(words))
