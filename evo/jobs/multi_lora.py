"""Several adapters in one forward pass: the base weights are applied once for all of them.

Rows are gathered by policy, (K, n, T, in), and each policy's low-rank product is one slice of a
batched matrix product; the sum with the base layer's output is what the policy computes by itself.
peft's own mixed batches loop over adapters in Python, layer by layer: docs/explanation/engine.md
has both speeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from xgl.lm.language_model import LanguageModel

PREFIX = "base_model.model."
"""What PEFT puts before the path of a layer."""


class NotByRowError(ValueError):
    """A layer, such as one of several experts, does not read the rows of a batch one by one."""


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
        """Groups of rows of ``steps`` positions whose policies, among ``names``, are ``policies``
        (N,)."""
        each = len(policies) // len(names)
        if list(policies) == [name for name in names for _ in range(each)]:
            return cls(None, None, len(policies), steps)
        order = {name: index for index, name in enumerate(names)}
        members: list[list[int]] = [[] for _ in names]
        for row, policy in enumerate(policies):
            members[order[policy]].append(row)
        widest = max(map(len, members))
        back = torch.empty(len(policies), dtype=torch.long)
        for index, rows in enumerate(members):
            back[rows] = index * widest + torch.arange(len(rows))
        padded_rows = [rows + [0] * (widest - len(rows)) for rows in members]
        padded = torch.tensor(padded_rows, device=device)
        return cls(padded, back.to(device), len(policies), steps)


@dataclass(frozen=True)
class StackedFactors:
    """The low-rank factors of one layer for all K policies: (K, in, r) and (K, r, out), the scale
    within; a policy without an adapter has zeros."""

    down: Tensor
    up: Tensor

    def __call__(self, inputs: Tensor, groups: RowGroups) -> Tensor:
        """Term to be added to the layer's output, (N, T, out), from its inputs (N, T, in); some
        models put rows and positions into one dimension, (N·T, in)."""
        by_row = inputs.reshape(groups.count, -1, inputs.shape[-1])
        if by_row.shape[1] != groups.steps:
            raise NotByRowError("a layer reads positions of several rows together")
        x = by_row if groups.gather is None else by_row[groups.gather.flatten().to(by_row.device)]
        stacked = x.to(self.down.dtype).reshape(len(self.down), -1, x.shape[2])
        product = (stacked @ self.down @ self.up).view(*x.shape[:2], -1)
        ordered = product if groups.back is None else product[groups.back.to(product.device)]
        return ordered.reshape(*inputs.shape[:-1], -1)


@dataclass(frozen=True)
class MultiLoraModel(LanguageModel):
    """A model whose rows name their policies."""

    names: tuple[str, ...] = ()
    current: list[RowGroups] = field(default_factory=list)
    """The groups of the pass under way, for the layers' hooks; empty between passes."""

    @property
    def multi_policy(self) -> bool:
        return True

    def backbone(self, policies: Sequence[str] | None = None, **inputs: Any) -> Any:
        """Hidden states and cache, each row by its policy. Raises ValueError without names."""
        if policies is None:
            raise ValueError("each row must name its policy")
        steps = inputs["input_ids"].shape[1]
        self.current[:] = [RowGroups.of(policies, self.names, steps, self.device)]
        try:
            return self.model.base_model(**inputs)
        finally:
            self.current.clear()


@contextmanager
def multi_lora(
    lm: LanguageModel, adapters: Mapping[str, Mapping[str, Tensor]], scale: float
) -> Iterator[MultiLoraModel]:
    """``lm`` as several policies: each name with its adapter's tensors, none for the base model.

    ``scale`` is alpha over the rank, one for all. Meanwhile ``lm`` must have no other adapter.
    The factors keep their place in memory where as many policies come again.
    """
    states = list(adapters.values())
    current: list[RowGroups] = []
    handles = []
    keys = {key for state in states for key in state}
    paths = sorted({key.removeprefix(PREFIX).rsplit(".lora_", 1)[0] for key in keys})
    variant = len(states), len(paths)
    stacks = lm.captured.setdefault(f"factors of {variant}", {})
    for path in paths:
        layer = lm.model.get_submodule(path)
        if path not in stacks:
            stacks[path] = _stack(path, states, lm.model.dtype, layer.weight.device)
        _fill(stacks[path], path, states, scale)
        handles.append(layer.register_forward_hook(_hook(stacks[path], current)))
    try:
        yield MultiLoraModel(
            lm.model,
            lm.tokenizer,
            lm.device,
            tuple(adapters),
            current,
            variant=variant,
            captured=lm.captured,
        )
    finally:
        for handle in handles:
            handle.remove()


def _hook(stack: StackedFactors, current: list[RowGroups]) -> Any:
    def add_product(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        if not current:  # the base player's pass
            return output
        return output + stack(inputs[0], current[0]).to(output.dtype)

    return add_product


def _stack(
    path: str,
    states: Sequence[Mapping[str, Tensor]],
    dtype: torch.dtype,
    device: torch.device,
) -> StackedFactors:
    """Room for a layer's factors: float32, but on a GPU the dtype of the model, in which its
    matrix units are fast."""
    names = factor_names(path)
    down, up = next([s[name].T for name in names] for s in states if names[0] in s)
    kind = torch.float32 if device.type == "cpu" else dtype
    return StackedFactors(
        *(torch.empty(len(states), *f.shape, dtype=kind, device=device) for f in (down, up))
    )


def _fill(
    stack: StackedFactors, path: str, states: Sequence[Mapping[str, Tensor]], scale: float
) -> None:
    names = factor_names(path)
    for down, up, state in zip(stack.down, stack.up, states, strict=True):
        down.copy_(state[names[0]].T if names[0] in state else torch.zeros(()))
        up.copy_(scale * state[names[1]].T.float() if names[0] in state else torch.zeros(()))


def factor_names(path: str) -> tuple[str, str]:
    """Names of a layer's factors in a stored adapter."""
    return f"{PREFIX}{path}.lora_A.weight", f"{PREFIX}{path}.lora_B.weight"
