"""LoRA adapters on one shared base model (docs/specification.md, "Fine-tuning"), and folders of
PEFT with adapters that were trained elsewhere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import torch
from peft import LoraConfig, PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load, load_file, save
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers.pytorch_utils import Conv1D

from evo.config.models import PlayerConfig
from xgl.errors import ConfigError
from xgl.files import may_use, not_yours
from xgl.judge.forward import supports_prefix_sharing
from xgl.lm.language_model import LanguageModel
from xgl.models.references import BLOCK
from xgl.models.weights import check_tensors, json_object, loading


class AdaptedModel:
    """One base model with room for one trainable adapter at a time, or several to play with, on all
    linear layers but the head; ``player`` has its rank, its scale (alpha / rank) and its blocks.

    ``base`` is the model without any, at all times; ``lm`` is the one with the trainable adapter,
    whose factors keep their place in memory from one adapter to the next: passes that were captured
    on a GPU read them there.
    """

    def __init__(self, base: LanguageModel, player: PlayerConfig) -> None:
        base.model.requires_grad_(False)
        self.base, self.lm = base, LoraModel.of(base, "adapter")
        self.rank, self.scale = player.lora_rank, player.lora_alpha / player.lora_rank
        self._layers = _adapted_layers(base, player.lora_layers)

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether the base model reads a tree of sequences as it reads each by itself."""
        return supports_prefix_sharing(self.base)

    def new_factors(self, seed: int) -> list[Tensor]:
        """The tensors of a new adapter that changes nothing yet, in the order of
        :meth:`parameters`."""
        devices = [self.base.device] if self.base.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            return [f for layer in self._layers.values() for f in _new_factors(layer, self.rank)]

    def with_adapter(self, adapter: bytes | None) -> AbstractContextManager[LanguageModel]:
        """The base model with a stored adapter; with None the base model as it is."""
        if adapter is None:
            return nullcontext(self.base)
        return self.attached(self._tensors(adapter))

    def with_adapters(
        self, adapters: Sequence[bytes | None]
    ) -> AbstractContextManager[LanguageModel]:
        """The base model with several stored adapters (None: no adapter); each row of a batch names
        its own by its place."""
        return self.with_factors([self._tensors(each) if each else None for each in adapters])

    @contextmanager
    def with_factors(self, factors: Sequence[Sequence[Tensor] | None]) -> Iterator[LanguageModel]:
        """The same with the tensors of several adapters, in the order of :meth:`parameters`. The
        stacked factors keep their place in memory where as many policies come again."""
        variant = len(factors), len(self._layers)
        stacks = self.base.captured.setdefault(f"factors of {variant}", {})
        for place, (path, layer) in enumerate(self._layers.items()):
            pairs = [None if each is None else each[2 * place : 2 * place + 2] for each in factors]
            if path not in stacks:
                stacks[path] = self._room(layer, len(factors))
            stacks[path].fill(pairs, self.scale)
        lm = LoraModel.of(self.base, variant, len(factors))
        with self._added(lm, [stacks[path] for path in self._layers]):
            yield lm

    @contextmanager
    def _added(self, lm: LoraModel, products: Sequence[Product]) -> Iterator[None]:
        """The base model's layers with what each adds in passes of ``lm``."""
        with ExitStack() as hooks:
            for layer, product in zip(self._layers.values(), products, strict=True):
                add = partial(_add_product, product, lm.current)
                hooks.enter_context(layer.register_forward_hook(add))
            yield

    def _room(self, layer: Any, policies: int) -> StackedFactors:
        """Room for a layer's factors: float32, but on a GPU the dtype of the model, in which its
        matrix units are fast."""
        (width, height), device = _widths(layer), layer.weight.device
        dtype = torch.float32 if device.type == "cpu" else self.base.model.dtype
        shapes = (policies, width, self.rank), (policies, self.rank, height)
        return StackedFactors(*(torch.empty(s, dtype=dtype, device=device) for s in shapes))

    def merge(self, adapter: bytes) -> None:
        """Add a stored adapter to the base model's own weights, for good."""
        tensors = iter(self._tensors(adapter))
        for layer in self._layers.values():
            down, up = next(tensors).to(layer.weight), next(tensors).to(layer.weight)
            update = self.scale * (up @ down)
            layer.weight.data += update if isinstance(layer, nn.Linear) else update.T

    def parameters(self) -> list[nn.Parameter]:
        """The present adapter's tensors: of each layer the factors (rank, in) and (out, rank)."""
        return self._places

    @cached_property
    def _places(self) -> list[nn.Parameter]:
        devices = [layer.weight.device for layer in self._layers.values() for _ in range(2)]
        shapes = zip(self._shapes.values(), devices, strict=True)
        return [nn.Parameter(torch.empty(shape, device=device)) for shape, device in shapes]

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, int]]:
        """Shapes of an adapter's tensors by their names in PEFT, in the order of
        :meth:`parameters`."""
        shapes: dict[str, tuple[int, int]] = {}
        for path, layer in self._layers.items():
            width, height = _widths(layer)
            shapes[f"{PREFIX}{path}.lora_A.weight"] = self.rank, width
            shapes[f"{PREFIX}{path}.lora_B.weight"] = height, self.rank
        return shapes

    @contextmanager
    def holding(self, values: list[Tensor]) -> Iterator[None]:
        """Within the context the present adapter is ``values``, which then become what it is."""
        places = [each.data for each in self.parameters()]
        torch._foreach_copy_(places, values)
        yield
        torch._foreach_copy_(values, places)

    def zero_gradient(self) -> None:
        """Begin a new gradient, in the memory of the last one, where a captured pass adds to it."""
        if gradients := [p.grad for p in self.parameters() if p.grad is not None]:
            torch._foreach_zero_(gradients)

    @contextmanager
    def whole_gradient(self) -> Iterator[None]:
        """Within the context the present adapter's gradient changes completely or, if an error
        occurs, not at all."""
        before = [None if p.grad is None else p.grad.clone() for p in self.parameters()]
        try:
            yield
        except (RuntimeError, MemoryError):
            for parameter, gradient in zip(self.parameters(), before, strict=True):
                if gradient is None or parameter.grad is None:
                    parameter.grad = gradient
                else:  # captured passes add to this memory
                    parameter.grad.copy_(gradient)
            raise

    def adapter_bytes(self) -> bytes:
        """The present adapter as safetensors in PEFT's names, equal bytes for equal tensors: in
        bfloat16 if the model is, whose layers then read no more of it on a GPU."""
        dtype = torch.bfloat16 if self.base.model.dtype == torch.bfloat16 else torch.float32
        state = {
            name: factor.detach().to("cpu", dtype).contiguous()
            for name, factor in zip(self._shapes, self.parameters(), strict=True)
        }
        return bytes(save({name: state[name] for name in sorted(state)}))

    def _tensors(self, adapter: bytes) -> list[Tensor]:
        """The tensors of a stored adapter, in the order of :meth:`parameters`; raises
        ModelNotFoundError for one of another model."""
        with loading(f"an archived adapter of {self.base.model.name_or_path}"):
            tensors: dict[str, Tensor] = load(adapter)
            check_tensors(tensors, self._shapes)
        return [tensors[name] for name in self._shapes]

    @contextmanager
    def attached(self, values: Sequence[Tensor]) -> Iterator[LanguageModel]:
        """The base model with an adapter of these tensors, in the order of :meth:`parameters`."""
        places = self.parameters()
        for place, value in zip(places, values, strict=True):
            place.data.copy_(value)
        factors = zip(places[::2], places[1::2], strict=True)
        self.zero_gradient()
        with self._added(self.lm, [partial(add_low_rank, *each, self.scale) for each in factors]):
            yield self.lm


def add_low_rank(
    down: Tensor, up: Tensor, scale: float, output: Tensor, x: Tensor, _: RowGroups | None = None
) -> Tensor:
    """``output`` (…, out) plus ``scale`` · ``x`` downᵀ upᵀ, for ``x`` (…, in), ``down`` (r, in) and
    ``up`` (out, r): in the factors' dtype, as PEFT does, but on a GPU in that of ``x``."""
    if not x.is_cuda:
        product = linear(linear(x.to(down.dtype), down), up) * scale
        return (output + product).to(output.dtype)
    narrow = linear(x.flatten(0, -2), down.to(x.dtype))
    flat = torch.addmm(output.flatten(0, -2), narrow, up.to(x.dtype).T, alpha=scale)
    return flat.view(output.shape)


def _new_factors(layer: Any, rank: int) -> list[Tensor]:
    """Factors whose product is 0, drawn as PEFT draws them and rounded as it rounds them; on a GPU
    by its own generator, since a CPU takes as long as some steps of training."""
    width, height = _widths(layer)
    if layer.weight.is_cuda:
        down = torch.empty(rank, width, device=layer.weight.device)
        down.uniform_(-(width**-0.5), width**-0.5)
        return [down, torch.zeros(height, rank, device=down.device)]
    first, _ = nn.Linear(width, rank, bias=False), nn.Linear(rank, height, bias=False)  # both draw
    nn.init.kaiming_uniform_(first.weight, a=math.sqrt(5))
    down = first.weight.detach().to(layer.weight.dtype).float()
    return [each.to(layer.weight.device) for each in (down, torch.zeros(height, rank))]


def _widths(layer: Any) -> tuple[int, int]:
    """Numbers of a layer's inputs and outputs."""
    height, width = layer.weight.shape if isinstance(layer, nn.Linear) else layer.weight.shape[::-1]
    return width, height


def _adapted_layers(base: LanguageModel, last: int | None) -> dict[str, Any]:
    """The linear layers by path, of the blocks only: of the ``last`` ones, None: of all."""
    blocks = int(base.model.config.num_hidden_layers)
    return {
        path: layer
        for path, layer in base.model.named_modules()
        if isinstance(layer, nn.Linear | Conv1D) and (block := BLOCK.search(path))
        if int(block[1]) >= blocks - (last or blocks)
    }


CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_NOT_HONOURED = ("alora_invocation_tokens", "arrow_config", "megatron_config")
"""Options of PEFT that its wrapper around a model applies, which stays outside here, and one by
which it imports a module that the file names."""


def peft_base(folder: Path, model: str = "") -> str:
    """The base model of an adapter folder: ``model``, or the one that it names. Raises
    :class:`ConfigError` for a folder that cannot be loaded."""
    config = _config(folder)
    base = model or config.get("base_model_name_or_path")
    if not base or not isinstance(base, str):
        raise ConfigError(
            f"players: {folder / CONFIG} names no base model, expected peft:{folder}@MODEL"
        )
    if not may_use(base, (folder / CONFIG).read_bytes(), model):
        found = not_yours(folder / CONFIG, f"the base model {base}", f"write peft:{folder}@{base}")
        raise ConfigError(f"players: {found}")
    return base


def with_peft_folder(base: LanguageModel, folder: Path) -> LanguageModel:
    """``base`` with the adapter put into its layers, not merged; the base model is changed in
    place. Raises :class:`ConfigError` for a folder that holds no LoRA of this model."""
    _config(folder)
    with loading(f"players: {folder}", ConfigError):
        tensors = load_file(folder / WEIGHTS)
        peft_model = PeftModel(base.model, LoraConfig.from_pretrained(folder))
        expected = get_peft_model_state_dict(peft_model, save_embedding_layers=False)
        saved = {name: each for name, each in peft_model.state_dict().items() if name in tensors}
        shapes = {name: tuple(each.shape) for name, each in (saved | expected).items()}
        check_tensors(tensors, shapes)
        set_peft_model_state_dict(peft_model, tensors)
    peft_model.requires_grad_(False)
    return replace(base, model=peft_model.get_base_model().eval())


def _config(folder: Path) -> dict[str, Any]:
    """The configuration of an adapter folder, of which every option is honoured."""
    try:
        config = json_object(folder / CONFIG)
    except ValueError as error:
        raise ConfigError(
            f"players: {folder} is no adapter folder: {error}, expected one that PEFT saved"
        ) from None
    if config.get("peft_type") != "LORA":
        raise ConfigError(
            f"players: {folder} holds {config.get('peft_type')!r}, expected an adapter of type LORA"
        )
    if not (folder / WEIGHTS).is_file():
        raise ConfigError(f"players: {folder} has no {WEIGHTS}; pickled weights are not read")
    honoured = {field.name for field in dataclasses.fields(LoraConfig)} - {*_NOT_HONOURED}
    if options := sorted(name for name, value in config.items() if value and name not in honoured):
        raise ConfigError(
            f"players: {folder / CONFIG} sets {', '.join(options)}, which cannot be honoured here, "
            "expected an adapter without it"
        )
    return config


PREFIX = "base_model.model."
"""What PEFT puts before the path of a layer."""


class NotByRowError(Exception):
    """A layer, such as one of several experts, does not read the rows of a batch one by one. Not a
    fault of a captured pass, which would end captured passes of one policy too."""


@dataclass
class RowGroups:
    """The rows of the present batch by policy: ``gather`` (K, n) row indices, padded with row 0,
    and ``back`` (N,) positions of the rows among the K·n; None if the rows stand like that.
    ``count``: N; ``steps``: T."""

    gather: Tensor | None
    back: Tensor | None
    count: int
    steps: int

    @classmethod
    def of(
        cls, policies: Sequence[str], names: Sequence[str], steps: int, device: torch.device
    ) -> RowGroups:
        """Groups of rows of ``steps`` positions, whose ``policies`` (N,) are among ``names``."""
        each = len(policies) // len(names)
        if list(policies) == [name for name in names for _ in range(each)]:
            return cls(None, None, len(policies), steps)
        members: dict[str, list[int]] = {name: [] for name in names}
        for row, policy in enumerate(policies):
            members[policy].append(row)
        widest = max(map(len, members.values()))
        back = torch.empty(len(policies), dtype=torch.long)
        for index, rows in enumerate(members.values()):
            back[rows] = index * widest + torch.arange(len(rows))
        padded_rows = [rows + [0] * (widest - len(rows)) for rows in members.values()]
        return cls(torch.tensor(padded_rows, device=device), back.to(device), len(policies), steps)


@dataclass(frozen=True)
class StackedFactors:
    """The low-rank factors of one layer for all K policies: (K, in, r) and (K, r, out), the scale
    within; a policy without an adapter has zeros."""

    down: Tensor
    up: Tensor

    def fill(self, pairs: Sequence[Sequence[Tensor] | None], scale: float) -> None:
        """Put in the factors (r, in) and (out, r) of each policy; None: of none."""
        for down, up, pair in zip(self.down, self.up, pairs, strict=True):
            down.copy_(pair[0].T if pair else torch.zeros(()))
            up.copy_(scale * pair[1].T.float() if pair else torch.zeros(()))

    def __call__(self, output: Tensor, inputs: Tensor, groups: RowGroups) -> Tensor:
        """A layer's output (N, T, out) with the product of its inputs (N, T, in) added; some models
        put rows and positions into one dimension, (N·T, in)."""
        by_row = inputs.reshape(groups.count, -1, inputs.shape[-1])
        if by_row.shape[1] != groups.steps:
            raise NotByRowError("a layer reads positions of several rows together")
        x = by_row if groups.gather is None else by_row[groups.gather.flatten().to(by_row.device)]
        stacked = x.to(self.down.dtype).reshape(len(self.down), -1, x.shape[2])
        product = (stacked @ self.down @ self.up).view(*x.shape[:2], -1)
        ordered = product if groups.back is None else product[groups.back.to(product.device)]
        return output + ordered.reshape(*inputs.shape[:-1], -1).to(output.dtype)


Product = Callable[[Tensor, Tensor, Any], Tensor]
"""A layer's output with what is added to it: of output, inputs and the pass's groups of rows."""


def _add_product(
    product: Product, current: list[Any], _: Any, inputs: tuple[Tensor, ...], output: Tensor
) -> Tensor:
    return product(output, inputs[0], current[0]) if current else output


@dataclass(frozen=True)
class LoraModel(LanguageModel):
    """A model whose layers add adapters in its own passes alone, while others read the same
    weights without: one adapter, or those of so many ``policies``, "0", "1", and so on, of which
    each row names its own."""

    policies: int = 0
    current: list[RowGroups | None] = field(default_factory=list)
    """The groups of the pass under way, None for a single adapter, for the layers' hooks; empty
    between passes."""

    @classmethod
    def of(cls, base: LanguageModel, variant: Hashable, policies: int = 0) -> Self:
        """The base model with as many policies."""
        at = base.model, base.tokenizer, base.device, policies
        return cls(*at, variant=variant, captured=base.captured)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.policies))) or ("",)

    def backbone(self, policies: Sequence[str] | None = None, **inputs: Any) -> Any:
        """Hidden states and cache, each row by its policy."""
        groups, steps = None, inputs["input_ids"].shape[1]
        if self.policies:
            groups = RowGroups.of(policies or (), self.names, steps, self.device)
        self.current[:] = [groups]
        try:
            return super().backbone(**inputs)
        finally:
            self.current.clear()
