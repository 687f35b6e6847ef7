"""The groups of settings that experiments on language models have, one frozen dataclass each.

Each field's meaning stands beneath it; defaults live in ``conf/`` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evo.config.checks import ConfigError, coverage
from evo.config.checks import above as _above
from evo.config.checks import at_least as _at_least
from evo.config.checks import between as _between
from evo.config.checks import one_of as _one_of

DTYPES = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class JudgeConfig:
    model: str
    """Model reference: embedded, smollm2, a folder or a hub id."""
    dtype: str
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    batch_tokens: int | None
    """Padded tokens of one forward pass, at most; null: what is fast on the device."""
    memory_mib: int
    """MiB that one forward pass may take: fewer tokens than batch_tokens where it must be."""
    remembered_mib: int
    """MiB of scores that are remembered within a job."""
    roots_mib: int
    """MiB of key-value caches of prefixes that many texts share."""
    stories: str
    """Where maps come from: corpus (held-out stories of the package) or judge (it writes)."""

    def __post_init__(self) -> None:
        _one_of("judge.dtype", self.dtype, DTYPES)
        if self.batch_tokens is not None:
            _at_least("judge.batch_tokens", self.batch_tokens, 64)
        _at_least("judge.memory_mib", self.memory_mib, 16)
        _at_least("judge.remembered_mib", self.remembered_mib, 0)
        _at_least("judge.roots_mib", self.roots_mib, 0)
        _one_of("judge.stories", self.stories, ("corpus", "judge"))


@dataclass(frozen=True)
class PlayerConfig:
    model: str
    """Model reference of the player, before fine-tuning: the base player M."""
    dtype: str
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    lora_rank: int
    """Rank of the adapters."""
    lora_alpha: int
    """Scale of the adapters, over the rank."""
    lora_layers: int | None
    """Adapters on the last so many blocks; null: on all."""
    memory_mib: int
    """MiB that one batch of moves may take beside the weights."""
    policies_per_pass: int
    """Adapters that are evaluated on a game in one pass, sharing the base weights' work."""

    def __post_init__(self) -> None:
        _one_of("player.dtype", self.dtype, DTYPES)
        _at_least("player.lora_rank", self.lora_rank, 1)
        _at_least("player.lora_alpha", self.lora_alpha, 1)
        _at_least("player.memory_mib", self.memory_mib, 16)
        _at_least("player.policies_per_pass", self.policies_per_pass, 1)
        if self.lora_layers is not None:
            _at_least("player.lora_layers", self.lora_layers, 1)


@dataclass(frozen=True)
class GameConfig:
    dialect: str
    """Dialect of the games that the search makes: xent or paper."""
    story_tokens: int
    """Length of story() in judge tokens."""
    max_len: int
    """Limit of an elicit that names none, in judge tokens."""
    max_failures: int
    """Failed ensures a player may have in a play; the next one is a forfeit."""
    max_characters: int
    """Longest string a register may hold; beyond it a play ends as oversize."""

    def __post_init__(self) -> None:
        _one_of("game.dialect", self.dialect, ("xent", "paper"))
        for name in ("story_tokens", "max_len", "max_characters"):
            _at_least(f"game.{name}", getattr(self, name), 1)
        _at_least("game.max_failures", self.max_failures, 0)


@dataclass(frozen=True)
class FinetuneConfig:
    tokens: int
    """Budget 𝒯 of one fine-tune: prompt and move tokens of the player, over all rollouts."""
    maps: int
    """Maps in one gradient step."""
    rollouts: int
    """Plays on each map: the group whose mean is the baseline."""
    learning_rate: float
    """AdamW's."""
    baseline: str
    """group_mean, leave_one_out or none."""
    scale_advantages: bool
    """Divide a step's advantages by their standard deviation."""
    entropy_bonus: float
    """Weight of the policy's entropy in the objective."""
    gradient_clip: float
    """Largest gradient norm."""
    kl: float
    """Weight of the divergence from the base player in the objective; 0: none."""
    replicates: int
    """Fine-tunes of each game under as many training seeds; with several, bounds speak of training
    seeds too."""
    shuffle: bool
    """Null control: each step's rewards are dealt anew among its moves."""

    def __post_init__(self) -> None:
        _at_least("finetune.tokens", self.tokens, 0)
        _at_least("finetune.maps", self.maps, 1)
        _at_least("finetune.rollouts", self.rollouts, 1)
        if self.rollouts < 2 and self.baseline != "none":
            raise ConfigError(
                f"finetune.rollouts: found {self.rollouts}, expected at least 2, because the "
                f"baseline {self.baseline} compares plays on one map"
            )
        _above("finetune.learning_rate", self.learning_rate, 0)
        _one_of("finetune.baseline", self.baseline, ("group_mean", "leave_one_out", "none"))
        _at_least("finetune.entropy_bonus", self.entropy_bonus, 0)
        _above("finetune.gradient_clip", self.gradient_clip, 0)
        _at_least("finetune.kl", self.kl, 0)
        _at_least("finetune.replicates", self.replicates, 1)


@dataclass(frozen=True)
class TransferConfig:
    definition: str
    """Which value decides: captured (C) or def37 (V); both are archived."""
    gain: str
    """Which gain it is made of: total, or specific (total minus permuted)."""
    calibration_plays: int
    """Base plays that fix a game's floor and show whether it can be played."""
    selection_plays: list[int]
    """Plays of each policy at each look of the selection, cumulative."""
    acceptance_plays: list[int]
    """Fresh plays of each policy at each look of the acceptance test, cumulative."""
    scan: int
    """Games of the scope whose adapters play a candidate at once, the likeliest to cover it first;
    then twice as many, and so on, until one does."""
    confidence: float
    """Of every decision; its error is shared over looks, over a list's acceptance tests and, for
    γ, over the scope."""
    max_forfeit_rate: float
    """Games that the base player leaves unfinished more often are refused."""
    min_steps: int
    """Games whose plays are so long that a fine-tune has fewer gradient steps are refused."""
    confirmations: int
    """Most candidates of a list that are put to the acceptance test, the smallest γ first."""

    def __post_init__(self) -> None:
        _one_of("transfer.definition", self.definition, ("captured", "def37"))
        _one_of("transfer.gain", self.gain, ("total", "specific"))
        _at_least("transfer.calibration_plays", self.calibration_plays, 2)
        for name in ("selection_plays", "acceptance_plays"):
            looks = getattr(self, name)
            if not looks or sorted(set(looks)) != looks or looks[0] < 2:
                raise ConfigError(
                    f"transfer.{name}: found {looks}, expected rising counts of at least 2"
                )
        _at_least("transfer.scan", self.scan, 1)
        _between("transfer.confidence", self.confidence, 0.5, 1)
        _between("transfer.max_forfeit_rate", self.max_forfeit_rate, -1e-9, 1 + 1e-9)
        _at_least("transfer.min_steps", self.min_steps, 0)
        _at_least("transfer.confirmations", self.confirmations, 1)


@dataclass(frozen=True)
class GrowthConfig:
    initial_scope: list[str]
    """Game files (.xgl or .xent), or names of the library."""
    alpha1: float
    """A candidate must give its parent at least this transfer value."""
    alpha2: float
    """Nothing known may give the candidate more than 1 − α2."""
    generations: int
    """Most generations."""
    list_size: int
    """Candidates in one list of the meta-sampler."""
    max_candidates: int | None
    """Candidates in the whole run; null: no such budget."""
    coverage_against: str
    """γ over scope_and_pending, or over scope (the literal Algorithm 1)."""
    max_accepts_per_parent: int | None
    """Accepted games from one parent; null: no limit."""
    diversity: float
    """Weight of the distance to the nearest known game where candidates are chosen; 0: none."""
    initial_attempts: int
    """Fine-tunes of an initial game, each under a training seed of its own, until one improves
    it clearly; the last counts if it improves it at all."""
    initial_clarity: float
    """Clearly: the lower bound of the gain is beyond this share of the gain. Values are shares of
    gains, and of a gain that is hardly known none can be settled."""
    eta: float
    """η of the cover that is archived with each generation's scope; it decides nothing."""
    unplayable_initial: str
    """An initial game that fine-tuning does not improve: stop the run, or keep it as a target."""

    def __post_init__(self) -> None:
        if not self.initial_scope:
            raise ConfigError("growth.initial_scope: found no game, expected at least one")
        _above("growth.alpha1", self.alpha1, 0)
        _between("growth.alpha2", self.alpha2, 0, 1)
        for name in ("generations", "list_size"):
            _at_least(f"growth.{name}", getattr(self, name), 1)
        for name in ("max_candidates", "max_accepts_per_parent"):
            if getattr(self, name) is not None:
                _at_least(f"growth.{name}", getattr(self, name), 1)
        _at_least("growth.diversity", self.diversity, 0)
        _at_least("growth.initial_attempts", self.initial_attempts, 1)
        _between("growth.initial_clarity", self.initial_clarity, -1e-9, 1)
        _between("growth.eta", self.eta, -1e-9, 1 + 1e-9)
        coverage("growth", self.coverage_against, self.max_accepts_per_parent)
        _one_of("growth.unplayable_initial", self.unplayable_initial, ("stop", "keep"))


@dataclass(frozen=True)
class MetaSamplerConfig:
    name: str
    """Which Λ: mutate, local or chat."""
    settings: dict[str, Any]
    """Its settings, see the meta-sampler's own documentation."""


@dataclass(frozen=True)
class ArchiveConfig:
    root: str
    """Folder that holds the run folders."""
    keep: str
    """Which adapters stay on disk: scope (those of accepted games) or all."""

    def __post_init__(self) -> None:
        _one_of("archive.keep", self.keep, ("scope", "all"))


@dataclass(frozen=True)
class ClusterConfig:
    address: str | None
    """null: a local Ray; auto or an address: join that cluster."""
    workers: int | None
    """Actors that play, and fine-tune where there are no trainers; null: one for each core of the
    cluster, at most 8."""
    trainers: int
    """Actors beside the workers that fine-tune and do nothing else; 0: the workers fine-tune."""
    gpus_per_worker: float
    """Share of a GPU for the player of each worker; 0: workers run on CPU."""
    gpus_per_trainer: float
    """Share of a GPU for the player of each trainer; 0: trainers run on CPU."""
    gpus_per_judge: float
    """Share of a GPU besides, for the judge that each worker or trainer on a GPU holds."""

    def __post_init__(self) -> None:
        if self.workers is not None:
            _at_least("cluster.workers", self.workers, 1)
        _at_least("cluster.trainers", self.trainers, 0)
        if self.trainers and self.workers is None:
            raise ConfigError("cluster.workers: found null, expected a number beside the trainers")
        for name in ("gpus_per_worker", "gpus_per_trainer", "gpus_per_judge"):
            _at_least(f"cluster.{name}", getattr(self, name), 0)
        for name, share in (("worker", self.worker_gpus), ("trainer", self.trainer_gpus)):
            if share > 1 and share != int(share):
                raise ConfigError(
                    f"cluster.gpus_per_{name}: found {share:g} with the judge's share, expected at "
                    "most 1, or whole GPUs"
                )

    @property
    def worker_gpus(self) -> float:
        """All that a worker takes: its player's share and its judge's."""
        return self._with_judge(self.gpus_per_worker)

    @property
    def trainer_gpus(self) -> float:
        """All that a trainer takes."""
        return self._with_judge(self.gpus_per_trainer)

    def _with_judge(self, share: float) -> float:
        return round(share + self.gpus_per_judge, 4) if share else 0.0


@dataclass(frozen=True)
class BudgetConfig:
    """What a run may spend in all its sessions; results do not depend on it, but for their end."""

    tokens: int | None
    """Tokens of the player and of the meta-sampler; null: no such budget."""
    seconds: float | None
    """Seconds of work, added up over workers and meta-sampler; null: no such budget."""
    dollars: float | None
    """Dollars that models behind an API cost; null: no such budget."""

    def __post_init__(self) -> None:
        for name in ("tokens", "seconds", "dollars"):
            if getattr(self, name) is not None:
                _above(f"budget.{name}", getattr(self, name), 0)
