"""LoRA adapters on one shared base model (docs/specification.md, "Fine-tuning"), and folders of
PEFT with adapters that were trained elsewhere."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from peft import (
    LoraConfig,
    PeftModel,
    get_peft_model,
    get_peft_model_state_dict,
    set_peft_model_state_dict,
)
from safetensors.torch import load, save

from evo.config.models import PlayerConfig
from evo.jobs.multi_lora import multi_lora
from xgl.errors import ConfigError
from xgl.lm.language_model import LanguageModel

_NAME = "player"


@dataclass(frozen=True)
class LoraSettings:
    """``rank`` of the update, ``alpha``/rank its scale; on all linear layers but the head, of
    the last ``layers`` blocks (None: of all)."""

    rank: int
    alpha: float
    layers: int | None = None


def lora_settings(player: PlayerConfig) -> LoraSettings:
    """The LoRA settings of a configuration."""
    return LoraSettings(player.lora_rank, player.lora_alpha, player.lora_layers)


def weight_sharing_copy(lm: LanguageModel) -> LanguageModel:
    """A second model object over the same tensors, so that adapters on one do not change the
    other."""
    tensors = [*lm.model.parameters(), *lm.model.buffers()]
    memo = {id(tensor): tensor for tensor in tensors}
    return replace(lm, model=copy.deepcopy(lm.model, memo))


class AdaptedModel:
    """One base model with room for one trainable adapter at a time, or several to play with."""

    def __init__(self, base: LanguageModel, settings: LoraSettings) -> None:
        self.base = base
        self.settings = settings
        self._targets = sorted(_linear_names(base.model))
        self._peft: Any = None

    @contextmanager
    def new_adapter(self, seed: int) -> Iterator[LanguageModel]:
        """The base model with a new trainable adapter that changes nothing yet."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._attach()
        try:
            yield self.base
        finally:
            self._peft.delete_adapter(_NAME)

    @contextmanager
    def with_adapter(self, adapter: bytes | None) -> Iterator[LanguageModel]:
        """The base model with a stored adapter; with None the base model as it is."""
        if adapter is None:
            with self.without_adapter():
                yield self.base
            return
        with self.new_adapter(0):
            set_peft_model_state_dict(self._peft, load(adapter), adapter_name=_NAME)
            yield self.base

    @contextmanager
    def with_adapters(self, adapters: Mapping[str, bytes | None]) -> Iterator[LanguageModel]:
        """The base model with several stored adapters; each row of a batch names its own."""
        with (
            self.without_adapter(),
            multi_lora(self.base, adapters, self.settings.alpha / self.settings.rank) as lm,
        ):
            yield lm

    @contextmanager
    def without_adapter(self) -> Iterator[None]:
        """The base model as it is, also while it has an adapter."""
        has_adapter = self._peft is not None and _NAME in self._peft.peft_config
        with self._peft.disable_adapter() if has_adapter else nullcontext():
            yield

    def parameters(self) -> list[torch.nn.Parameter]:
        """The present adapter's tensors."""
        return [p for p in self.base.model.parameters() if p.requires_grad]

    @contextmanager
    def whole_gradient(self) -> Iterator[None]:
        """Within the context the present adapter's gradient changes completely or, if an error
        occurs, not at all."""
        before = [None if p.grad is None else p.grad.clone() for p in self.parameters()]
        try:
            yield
        except (RuntimeError, MemoryError):
            for parameter, gradient in zip(self.parameters(), before, strict=True):
                parameter.grad = gradient
            raise

    def adapter_bytes(self) -> bytes:
        """The present adapter as safetensors, equal bytes for equal tensors."""
        state = get_peft_model_state_dict(self._peft, adapter_name=_NAME)
        return bytes(save({key: state[key].detach().cpu().contiguous() for key in sorted(state)}))

    def _attach(self) -> None:
        if self._peft is None:
            with warnings.catch_warnings():  # peft 0.x uses a name that transformers 5 deprecates
                warnings.simplefilter("ignore", FutureWarning)
                self._peft = get_peft_model(self.base.model, self._config(), adapter_name=_NAME)
        else:
            self._peft.add_adapter(_NAME, self._config())
            self._peft.set_adapter(_NAME)

    def _config(self) -> LoraConfig:
        last = self.settings.layers
        blocks = int(self.base.model.config.num_hidden_layers)
        return LoraConfig(
            r=self.settings.rank,
            lora_alpha=self.settings.alpha,
            target_modules=self._targets,
            layers_to_transform=None if last is None else list(range(blocks - last, blocks)),
            bias="none",
            task_type="CAUSAL_LM",
        )


def _linear_names(model: torch.nn.Module) -> set[str]:
    """Last parts of the names of the blocks' linear layers, such as ``q_proj``; to be read
    before adapters add linear layers of their own."""
    return {
        name.rsplit(".", 1)[-1]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and ".layers." in f".{name}."
    }


CONFIG = "adapter_config.json"


def peft_base(folder: Path) -> str:
    """The base model that an adapter folder names. Raises :class:`ConfigError`."""
    base = _config(folder).get("base_model_name_or_path")
    if not base:
        raise ConfigError(
            f"players: {folder / CONFIG} names no base model, expected peft:{folder}@MODEL"
        )
    return str(base)


def with_peft_folder(base: LanguageModel, folder: Path) -> LanguageModel:
    """``base`` with the adapter put into its layers, not merged; the base model is changed in
    place. Raises :class:`ConfigError` for a folder that holds no LoRA of this model."""
    _config(folder)
    try:
        peft_model = PeftModel.from_pretrained(base.model, str(folder))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"players: {folder} does not load on its base model: {reason}") from error
    peft_model.requires_grad_(False)
    return replace(base, model=peft_model.get_base_model().eval())


def _config(folder: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"players: {folder} is no adapter folder ({type(error).__name__} at {CONFIG}), "
            "expected one that PEFT saved"
        ) from None
    if config.get("peft_type") != "LORA":
        raise ConfigError(
            f"players: {folder} holds {config.get('peft_type')!r}, expected an adapter of type LORA"
        )
    return config
