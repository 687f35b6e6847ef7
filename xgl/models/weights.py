"""Weights that fill their model whole; others are refused by the names of their tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xgl.errors import ModelNotFoundError
from xgl.files import read_bytes, read_json

SHOWN = 3
"""Most tensors that a message names of each kind."""
REASON = 400
"""Most characters that a message quotes from a library."""


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and reports of transformers' own: the program has one display."""
    from transformers.utils import logging

    was_enabled, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if was_enabled:
            logging.enable_progress_bar()


@contextmanager
def loading(what: str, refusal: type[Exception] = ModelNotFoundError) -> Iterator[None]:
    """Within the context, libraries read files of a user: quietly, and whatever they raise is one
    sentence about ``what``, a ``refusal``."""
    try:
        with quiet():
            yield
    except Exception as error:  # parsers of JSON, pickles and tensors raise errors of any type
        reason = " ".join(f"{error}".split()) or type(error).__name__
        raise refusal(f"{what} does not load: {reason[:REASON]}") from error


def json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a model. Raises ValueError for anything else."""
    try:
        value = read_json(read_bytes(path))
    except FileNotFoundError:
        raise ValueError(f"{path.parent} has no {path.name}") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} holds a {type(value).__name__}, expected an object")
    return value


def load_causal_lm(folder: Path, dtype: Any, **options: Any) -> Any:
    """The causal LM of a folder, its weights of the torch type ``dtype``; ``options`` are those of
    ``from_pretrained``. Raises ValueError where :func:`refuse_tensors` does."""
    import torch
    from transformers import AutoModelForCausalLM

    model, report = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=dtype,
        trust_remote_code=False,  # without it, transformers asks on the terminal
        use_safetensors=True,  # a pickle may run code
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # the report names them; the error would be a page long
        **options,
    )
    masks = {name for name, _ in model.named_buffers()}  # older checkpoints hold them
    other = [n for n in report["unexpected_keys"] if n not in masks and ".masked_bias" not in n]
    faults = report["missing_keys"], other, report["mismatched_keys"]
    refuse_tensors(*faults, dict(model.named_parameters()))
    if (config := model.config.get_text_config()) is model.config:
        return model
    with torch.device("meta"):  # of a model that reads images too, the part that reads texts
        text = AutoModelForCausalLM.from_config(config, dtype=dtype)
    setattr(text, text.base_model_prefix, model.get_decoder())
    text.set_output_embeddings(model.get_output_embeddings())
    text.generation_config = model.generation_config
    text.hf_device_map = getattr(model, "hf_device_map", {})
    return text.eval()


def dequantised(model: Any) -> Any:
    """A model that was read in full from quantised weights, as one that can be saved."""
    model.hf_quantizer, model.is_quantized = None, False
    model._weight_conversions = None  # of the checkpoint, which would quantise what is saved
    model.config.__dict__.pop("quantization_config", None)
    return model


def check_tensors(found: Mapping[str, Any], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raises ValueError unless ``found`` are finite tensors of ``expected`` names and shapes."""
    shapes = [(name, found[name].shape, expected[name]) for name in expected if name in found]
    misshapen = [each for each in shapes if each[1] != each[2]]
    missing, unexpected = expected.keys() - found.keys(), found.keys() - expected.keys()
    refuse_tensors(missing, unexpected, misshapen, found)


def refuse_tensors(
    missing: Iterable[str],
    unexpected: Iterable[str],
    misshapen: Iterable[tuple[str, Iterable[int], Iterable[int]]],
    tensors: Mapping[str, Any],
) -> None:
    """Raises ValueError that names the first tensors of each kind (``misshapen`` with the shapes
    found and expected), and those of ``tensors`` with NaN or infinite values: loaded in part, a
    model would play under the name of the whole one."""
    not_finite = [
        name
        for name, tensor in tensors.items()
        if tensor.numel() and tensor.is_floating_point() and tensor.element_size() > 1
        if not all(map(math.isfinite, tensor.detach().aminmax()))
    ]
    kinds = {
        "missing": missing,
        "unexpected": unexpected,
        "of another shape": [
            f"{name} {'×'.join(map(str, found))} for {'×'.join(map(str, expected))}"
            for name, found, expected in misshapen
        ],
        "NaN or infinite": not_finite,
    }
    faults = []
    for kind, names in kinds.items():
        if first := sorted(names):
            more = f" and {len(first) - SHOWN} more" if len(first) > SHOWN else ""
            faults.append(f"{kind}: {', '.join(first[:SHOWN])}{more}")
    if faults:
        raise ValueError(f"tensors {'; '.join(faults)}")
