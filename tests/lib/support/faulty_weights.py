"""Ways in which tensors of a file do not fill a model, each with what the refusal must name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import Tensor

from xgl.models.resolve import EMBEDDED

Tensors = dict[str, Tensor]


def _changed(change: Callable[[Tensor], Tensor]) -> Callable[[Tensors], Tensors]:
    def changed(tensors: Tensors) -> Tensors:
        first = min(tensors)
        return {**tensors, first: change(tensors[first])}

    return changed


def _filled_with(value: float) -> Callable[[Tensors], Tensors]:
    def one_value(tensor: Tensor) -> Tensor:
        tensor = tensor.clone()
        tensor.view(-1)[-1] = value
        return tensor

    return _changed(one_value)


FAULTS: dict[str, tuple[Callable[[Tensors], Tensors], str]] = {
    "one is missing": (lambda all_: dict(list(all_.items())[1:]), r"missing: .*{first}"),
    "most are missing": (lambda all_: dict(islice(all_.items(), 2)), r"missing: .* more"),
    "all are missing": (lambda _: {}, r"missing: .* more"),
    "one more": (lambda all_: {**all_, "x.w": all_[min(all_)].clone()}, r"unexpected: x\.w"),
    "all have other names": (  # as if saved from inside another model
        lambda all_: {f"outer.{name}": tensor for name, tensor in all_.items()},
        r"missing: .*unexpected: ",
    ),
    "one is longer": (_changed(lambda each: each.repeat(2, 1)), r"of another shape: {first} "),
    "one is turned": (_changed(lambda each: each.T.contiguous()), r"of another shape: {first} "),
    "NaN": (_filled_with(float("nan")), "NaN or infinite: {first}"),
    "infinite": (_filled_with(float("-inf")), "NaN or infinite: {first}"),
}


def faulty(fault: str, tensors: Tensors) -> tuple[Tensors, str]:
    """Faulty tensors, and what their refusal must name."""
    change, named = FAULTS[fault]
    first = next(iter(tensors)) if fault == "one is missing" else min(tensors)
    return change(tensors), named.replace("{first}", re.escape(first))


def faulty_folder(folder: Path, fault: str) -> str:
    """Make a copy of the embedded model with faulty weights; what its refusal must name."""
    shutil.copytree(EMBEDDED, folder)
    weights = folder / "model.safetensors"
    tensors, named = faulty(fault, load_file(weights))
    save_file(tensors, weights, {"format": "pt"})
    return named
