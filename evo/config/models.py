"""The settings of the judge, of the player, and of how the player is fine-tuned; and those that
follow from the GPUs and the processor of this machine, for a new run that does not name them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, takewhile
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from xgl.chat.settings import VariableName
from xgl.language.canonical import RESERVED
from xgl.models.references import check_device, check_stories, is_server
from xgl.settings import (
    Count,
    Dtype,
    Flag,
    Fraction,
    Natural,
    NonNegative,
    Positive,
    Role,
    Share,
    Text,
    settings,
)


def _check_others(others: dict[str, str]) -> dict[str, str]:
    if bad := next((n for n in others if n in RESERVED or not n.isidentifier()), None):
        raise ValueError(f"found the name {bad!r}, expected a word such as weak")
    if server := next((each for each in others.values() if is_server(each)), None):
        raise ValueError(f"found {server}, expected models of this machine")
    return others


Device = Annotated[str, AfterValidator(check_device), Role.RESUMABLE]
Mebibytes = Annotated[Count, Field(ge=16)]
Several = Annotated[Count, Field(ge=2)]
Others = Annotated[dict[str, str], AfterValidator(_check_others)]
"""References of the models under a judge, by name."""


@settings
class JudgeConfig:
    """The model that scores texts, and where maps come from."""

    model: str = "embedded"
    """Model reference: embedded, smollm2, a folder or a hub id; or vllm:MODEL@URL, a server that
    returns the log-probabilities of prompts."""
    dtype: Dtype = "auto"
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    device: Device = "auto"
    """Which of a worker's GPUs it is on: cuda:0 for the first; auto: the worker's only device."""
    memory_mib: Mebibytes = 1024
    """MiB that one forward pass may take."""
    stories: Annotated[str, AfterValidator(check_stories)] = "corpus"
    """Source of the texts of maps: corpus (held-out stories of the package); a file of texts in any
    language (.txt with one a line or blank lines between them); or who writes
    them, and can follow prompts: judge, or another model of this machine."""
    key_variable: Annotated[VariableName | None, Role.RESUMABLE] = None
    """Environment variable with the key of the server that is judge.model; null: OPENAI_API_KEY at
    OpenAI's own endpoint, no key elsewhere."""
    tokenizer: Text | None = None
    """Reference of the tokenizer of a judge.model behind a server; null: MODEL of vllm:MODEL@URL,
    which may be a name that only the server knows."""
    others: Others = Field(default_factory=dict)
    """Models under the judge by name, as in {weak: FOLDER}: programs name them in pre-instructions
    and statements that begin with @weak, and a game's metadata as its judge or NPCs."""
    second: Annotated[Text | None, Role.RESUMABLE] = None
    """Model reference of a second judge, which scores the plays behind every accepted game again at
    the end of a growth; null: none. No decision depends on it."""

    def __post_init__(self) -> None:
        if self.stories == "judge" and is_server(self.model):
            raise ValueError("stories: found judge, and a server writes none, expected corpus")
        if self.tokenizer is not None and not is_server(self.model):
            raise ValueError(f"tokenizer: found {self.tokenizer!r}, expected a server as model")
        if self.second == self.model or is_server(self.second or ""):
            raise ValueError(
                f"second: found {self.second}, expected a model of this machine that is not "
                "judge.model"
            )


@settings
class PlayerConfig:
    """The base player M and its adapters."""

    model: str = "embedded"
    """Model reference of the player, before fine-tuning: the base player M. adapter:RUN:ID goes on
    with a fine-tune of another run."""
    npc: str = "base"
    """Model reference of the players of all other roles, which do not change (§4.1); base: the base
    player M. A model that is loaded already shares its weights."""
    dtype: Dtype = "auto"
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    device: Device = "auto"
    """Which of a worker's GPUs it is on: cuda:1 for the second, or cuda:1+0 for the first of these
    and, if its weights need more room, its blocks over both; auto: the worker's only device."""
    lora_rank: Count = 16
    """Rank of the adapters."""
    lora_alpha: Count = 32
    """Scale of the adapters: lora_alpha / lora_rank multiplies their update."""
    lora_layers: Count | None = None
    """Number of blocks, from the last, that have adapters; null: all."""
    temperature: Positive = 0.5
    """Temperature at which the base player and its fine-tunes make the moves that are measured (the
    paper: 1). A training samples at 1, so that it explores; NPCs too."""
    memory_mib: Mebibytes = 1024
    """MiB that one batch of moves may take, without the weights, and as much again for caches of
    earlier prompts."""
    policies_per_pass: Count = 1
    """Adapters that play in one pass, which computes the base weights' part once: those evaluated
    on a game, and fine-tunes that one step of the search asks for, which are made in lockstep.
    More than 1 is faster on a GPU, not on two cores."""


@settings
class WarmStartConfig:
    """Before the policy gradient: moves made of words in view are played and edited by hill
    climbing, and the player imitates the best of each map."""

    maps: Natural = 64
    """Maps; 0: no warm start, only the policy gradient, as in the paper."""
    rollouts: Several = 16
    """Plays on each map, and in each round of edits."""
    proposals: Share = 0.75
    """Share of the plays in which words in view are the moves; in the others the player's own are.
    Where nothing is in view, all are."""
    edits: Natural = 3
    """Rounds of hill climbing: in each, rollouts plays on a map in which the best move so far is
    edited, by words of the view. 0: none."""
    epochs: Count = 4
    """Passes over the imitated moves."""
    batch: Count = 32
    """Moves in one gradient step."""
    learning_rate: Positive = 0.003
    """Learning rate of AdamW."""


@settings
class FinetuneConfig:
    """The learner: budget, warm start, policy gradient."""

    tokens: Natural = 2000000
    """Budget 𝒯 of one fine-tune: prompt and move tokens of the player, over all rollouts."""
    steps: Count | None = 96
    """Most steps after the warm start, so that games with short views and games with long views are
    played equally often; null: as many as the tokens pay for, as in the paper."""
    warm_start: WarmStartConfig = WarmStartConfig()
    maps: Count = 8
    """Maps of one step."""
    rollouts: Several = 8
    """Plays on each map: the group whose mean is the baseline."""
    learning_rate: Positive = 0.0015
    """Learning rate of AdamW at the first step after the warm start. From 0.002 upwards, the
    embedded player sometimes collapses."""
    decay: Share = 1.0
    """Share by which the learning rate falls until the end, in proportion to the budget spent."""
    averaged_share: Share = 0.25
    """Last share of the budget: the result is the mean of the adapters after its steps. 0: the
    result is the last adapter."""
    updates: Count = 2
    """Gradient steps on the plays of a step, each on its part of the maps."""
    clipped_ratio: Fraction | None = 0.2
    """Width of the clipped ratio of a move's probability to that at which it was made (PPO), for
    several gradient steps on the same plays; null: REINFORCE to the letter, without a ratio."""
    bfloat16_rewards: Flag = True
    """Whether the judge scores the plays of a training in bfloat16 where the processor multiplies
    in it, which is faster; gains are measured at judge.dtype all the same."""
    entropy_bonus: NonNegative = 0.03
    """Weight of the policy's entropy in the objective, in nats a token; it keeps moves
    different."""
    gradient_clip: Positive = 1.0
    """Largest gradient norm."""
    kl: NonNegative = 0.0
    """Weight of the divergence from the base player in the objective; 0: none."""
    replicates: Count = 1
    """Fine-tunes of each game, each with its own training seed. With several, bounds also cover the
    choice of training seeds."""
    shuffle: Flag = False
    """Null control: each step's rewards are permuted among its moves, all of which are the
    player's own. A growth trains its initial games on their true rewards all the same."""


@dataclass(frozen=True)
class ModelHostSettings:
    """The models that a host loads, and the device ("cpu", "cuda")."""

    judge: JudgeConfig
    player: PlayerConfig
    finetune: FinetuneConfig | None = None
    """None: nothing is trained."""
    device: str = "cpu"

    def device_of(self, section: JudgeConfig | PlayerConfig) -> str:
        """Where the models of a section go."""
        named = section.device != "auto" and self.device != "cpu"
        return section.device if named else self.device


# -- what follows from the hardware ----------------------------------------------------------------

PASS_SHARE = 1 / 8
"""Share of a worker's part of a GPU that one pass may take; weights, caches and the places of
captured passes take the rest."""
POLICIES = 4
"""Adapters in one pass: on an H100 four took 0.6 of the time of four passes
(docs/explanation/engine.md)."""
MOST_GPUS = 64
"""Of a worker; more are a mistake, which the other settings' checks say."""

_GPU_NAME = re.compile(r"\s*(\d|GPU-|MIG-)")


def find_gpus() -> tuple[int, int]:
    """Number of the GPUs, all alike, that this process may use, and MiB of memory of each; (0, 0)
    without any, or with a torch for CPUs."""
    with suppress(PackageNotFoundError, OSError, subprocess.SubprocessError):
        if shutil.which("nvidia-smi") and not version("torch").endswith("+cpu"):
            query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
            listed = subprocess.check_output(query, text=True, timeout=30).splitlines()
            visible = os.environ.get("CUDA_VISIBLE_DEVICES")
            # as CUDA reads it: names up to the first that names no GPU
            named = listed if visible is None else takewhile(_GPU_NAME.match, visible.split(","))
            if count := min(len([*named]), len(listed)):
                memory = listed[0].strip()  # [N/A] where it is that of the processor
                pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
                return count, int(memory) if memory.isdigit() else pages
    return 0, 0


def workers_of(gpus: Iterable[float], share: float) -> int:
    """Workers that find place on nodes with so many GPUs: a share of a GPU is one GPU's, several
    GPUs are of one node."""
    own = ([*[1.0] * int(each), each % 1] if share < 1 else [each] for each in gpus)
    return sum(int(each / share + 1e-6) for each in chain(*own))


def settings_for(gpus: int, memory_mib: int, overrides: Sequence[str]) -> tuple[str, ...]:
    """Overrides by which a run uses GPUs, to stand before its own. On this machine: one worker for
    each GPU, as many as ``cluster.gpus_per_worker`` leaves room for, or ``cluster.workers``; not if
    a run is for a cluster or is to stay on the CPU (``cluster.gpus_per_worker=0``). Anywhere, of
    several GPUs a worker: the judge on the first, the player on as many others as it needs."""
    own = dict(word.lstrip("+").partition("=")[::2] for word in overrides)
    try:
        workers = own.get("cluster.workers", "null")
        on_each = 1 if workers == "null" else max(1, -(-int(workers) // max(1, gpus)))
        share = float(own.get("cluster.gpus_per_worker", 10**4 // on_each / 10**4))  # as Ray counts
    except ValueError:  # to be refused with the other settings
        return ()
    values = dict[str, str]()
    if 1 < share <= MOST_GPUS:
        order = "+".join(map(str, [*range(1, round(share)), 0]))
        values |= {"judge.device": "cuda:0", "player.device": f"cuda:{order}"}
    is_here = own.get("cluster.address", "null") == "null"
    if is_here and 0 < share <= gpus:
        memory = max(16, int(memory_mib * PASS_SHARE * min(1.0, share)))
        values |= {
            "cluster.gpus_per_worker": f"{share:g}",
            "cluster.workers": f"{max(1, workers_of([gpus], share))}",
            "judge.dtype": "bfloat16",
            "player.dtype": "bfloat16",
            "judge.memory_mib": f"{memory}",
            "player.memory_mib": f"{memory}",
            "player.policies_per_pass": f"{POLICIES}",
        }
    return tuple(f"{key}={value}" for key, value in values.items() if key not in own)


def reward_settings(
    overrides: Sequence[str], cpuinfo: Path = Path("/proc/cpuinfo")
) -> tuple[str, ...]:
    """Overrides by which no judge scores in bfloat16 what this processor does not multiply in it:
    decided once, so that all workers of a run train for the same rewards."""
    try:
        flags = cpuinfo.read_text().split()
    except OSError:  # not Linux
        flags = []
    names = [word.lstrip("+").partition("=")[0] for word in overrides]
    key = "finetune.bfloat16_rewards"
    return () if "avx512_bf16" in flags or key in names else (f"{key}=false",)
