"""Model references: `embedded`, `smollm2`, a local folder, a hub id, or a fine-tune of a run,
`adapter:RUN:ID`, to loaded weights.

`python -m xgl.models.resolve smollm2` gets a model and prints the folder it is in.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from xgl.errors import ConfigError, ModelNotFoundError
from xgl.files import BUILT_IN, user_path
from xgl.models import smollm2
from xgl.models.references import WEIGHTS_SHARE, devices_of, placement
from xgl.models.weights import json_object, load_causal_lm, loading
from xgl.streams import exit_code

EMBEDDED = Path(__file__).with_name("embedded")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[\w.-]+)?")
BATCHED_ROTARY = ("dynamic", "longrope")
_IMPLEMENTATIONS = "attn_implementation", "experts_implementation"
"""What transformers may fetch from the hub as code, by these entries of a configuration."""
MERGED = "evo.jobs.merged"
"""The module that reads fine-tunes of runs, which this package cannot: imported only for one."""
UNLIMITED = 2**62
"""Tokens a tokenizer takes without a warning; what a model can read is checked by its reader."""
EXPECTED = (
    "expected `embedded`, `smollm2`, a folder with config.json and weights, a hub id, or "
    "adapter:RUN_FOLDER:FINETUNE_ID"
)


def resolve(reference: str, key: str = "") -> Path:
    """The local folder of a model; downloads where the reference needs it.

    A folder that exists wins over a hub id of the same spelling. Raises ModelNotFoundError, whose
    message begins with the ``key`` that holds the reference.
    """
    where = f"{key}: " if key else ""
    try:
        folder = _find(reference)
        _check_folder(folder)
    except (ConfigError, ModelNotFoundError) as error:
        raise ModelNotFoundError(f"{where}{error}") from None
    except (ValueError, OSError) as error:
        raise ModelNotFoundError(f"{where}model {reference!r}: {error}; {EXPECTED}") from None
    return folder


def is_hub_id(reference: str) -> bool:
    """Whether a reference is an id of the hub: ``owner/name``, or a name alone, such as gpt2."""
    is_known = reference in BUILT_IN or os.path.exists(user_path(reference))
    return not is_known and bool(_HUB_ID.fullmatch(reference))


def _find(reference: str) -> Path:
    if reference == "embedded":
        return EMBEDDED
    if reference == "smollm2":
        return smollm2.obtain()
    place = user_path(reference)
    if os.path.isdir(place):  # unlike Path's, false for a name too long for the disk
        return place
    if reference.startswith("adapter:"):
        return _merged(reference)
    if is_hub_id(reference) and (folder := smollm2.hub_snapshot(reference)):
        return folder
    raise ModelNotFoundError(
        f"model {reference!r} is neither a folder here nor in the hub's cache, and the hub did not "
        f"give it (no network, or no such id); {EXPECTED} (a model behind an endpoint: "
        "chat:MODEL@http(s)://… as a player, vllm:MODEL@http(s)://… as judge.model)"
    )


def _merged(reference: str) -> Path:
    """The folder of a base model with a fine-tune of a run put into it."""
    try:
        merged = import_module(MERGED).merged
    except (ImportError, AttributeError) as error:
        raise ModelNotFoundError(
            f"model {reference!r}: a fine-tune of a run is put into its base by the extra [run], "
            f"which is not installed ({error})"
        ) from None
    return Path(merged(reference))


def _check_folder(folder: Path) -> None:
    """Raises ValueError for a folder that no worker could load."""
    from safetensors import SafetensorError, safe_open

    if (folder / "adapter_config.json").exists():  # transformers would load what it names
        raise ValueError(f"{folder} holds an adapter, which is measured by players=[peft:{folder}]")
    if odd := [path.name for path in folder.iterdir() if not (path.is_file() or path.is_dir())]:
        raise ValueError(f"{folder / min(odd)} is no regular file")
    config = json_object(folder / "config.json")
    if kernel := next((n for n in _IMPLEMENTATIONS if "/" in str(config.get(n))), None):
        raise ValueError(f"{folder / 'config.json'} takes code from elsewhere ({kernel})")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickles = ": pickled weights, which may run code, are not read"
        found = pickles if any(folder.glob("*.bin")) else ""
        raise ValueError(f"{folder} has no *.safetensors{found}")
    for path in weights:
        try:
            with safe_open(path, framework="numpy"):
                pass
        except (SafetensorError, OSError) as error:
            raise ValueError(f"{path} is damaged ({error})") from None


def load(reference: str, *, device: str = "cpu", dtype: str = "auto") -> tuple[Any, Any]:
    """(model in evaluation mode, tokenizer) of a reference.

    `device`: a torch device, `auto` for a GPU where there is one, or several GPUs, `cuda:0+1`, of
    which the model takes the first ones that have room for it. `dtype`: a torch dtype's name,
    or `auto` for bfloat16 on a GPU and float32 elsewhere. The tokenizer has a BOS
    (:func:`_first_token` if it has none of its own). Raises ModelNotFoundError.
    """
    import torch

    folder = resolve(reference)
    device_name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    on_cpu = device_name == "cpu"
    if dtype == "auto":
        dtype = "float32" if on_cpu else "bfloat16"
    with loading(f"model {reference!r}: {folder}"):
        placed = {} if on_cpu else _device_map(folder, device_name, dtype)
        options = {"device_map": placed} if placed else _in_full(folder)
        model = load_causal_lm(folder, getattr(torch, dtype), **options).eval()
        if on_cpu:  # FP8 weights are read as float32 there
            model.to(getattr(torch, dtype))
        if reason := unsupported_reason(model):
            raise ValueError(f"{reason}; such models are not supported")
    if not on_cpu:
        torch.backends.cuda.enable_cudnn_sdp(False)  # it plans, 50 to 150 ms, for each new shape
        if len(placed) == 1:  # else the last norm brings the states to its device
            fuse_norms(model)
    tokenizer = _tokenizer_of(reference, folder)
    largest = max(tokenizer.vocab_size - 1, tokenizer.bos_token_id, tokenizer.eos_token_id)
    if largest >= model.config.vocab_size:
        raise ModelNotFoundError(
            f"model {reference!r}: its tokenizer has the id {largest}, its weights have "
            f"{model.config.vocab_size} tokens, expected as many or more"
        )
    return model, tokenizer


def _in_full(folder: Path) -> dict[str, Any]:
    """Options by which FP8 weights are read in full on a CPU: where there is a GPU that computes in
    FP8 too, transformers would not do so of itself."""
    from transformers import FineGrainedFP8Config

    stored = json_object(folder / "config.json").get("quantization_config") or {}
    kept = {"modules_to_not_convert": stored.get("modules_to_not_convert")}
    in_full = {"quantization_config": FineGrainedFP8Config(dequantize=True, **kept)}
    return in_full if stored.get("quant_method") == "fp8" else {}


def _device_map(folder: Path, device: str, dtype: str) -> dict[str, str]:
    """Where weights are read to, not by way of host memory. Raises ValueError without room."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    if len(devices := devices_of(device)) == 1:
        return {"": device}
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    cards = map(torch.cuda.get_device_properties, devices)
    return placement(model, devices, [card.total_memory * WEIGHTS_SHARE for card in cards])


def load_tokenizer(reference: str) -> Any:
    """The tokenizer of a reference, without its weights. Raises ModelNotFoundError."""
    return _tokenizer_of(reference, reference if is_hub_id(reference) else resolve(reference))


def _tokenizer_of(reference: str, source: str | Path) -> Any:
    """The tokenizer with a BOS, and without a warning for long texts."""
    from transformers import AutoTokenizer

    with loading(f"model {reference!r}: its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    if tokenizer.eos_token_id is None:
        raise ModelNotFoundError(
            f"model {reference!r}: its tokenizer has no EOS token; one is needed"
        )
    if tokenizer.bos_token_id is None:
        tokenizer.bos_token = _first_token(tokenizer, source)
    tokenizer.model_max_length = UNLIMITED
    return tokenizer


def _first_token(tokenizer: Any, source: str | Path) -> str:
    """What begins a text where the tokenizer has no BOS: what the model's configuration names, or
    what ends a text. An instruct model's EOS ends a turn; a padding token is nearer to a BOS."""
    from transformers import PreTrainedConfig

    named = None
    with suppress(OSError):  # there may be no more than a tokenizer
        named = PreTrainedConfig.get_config_dict(source)[0].get("bos_token_id")
    if isinstance(named, int) and 0 <= named < len(tokenizer):
        return str(tokenizer.convert_ids_to_tokens(named))
    return str((tokenizer.chat_template and tokenizer.pad_token) or tokenizer.eos_token)


def unsupported_reason(model: Any) -> str:
    """Why judge and policy would get wrong numbers from a model; empty for a model that works. They
    apply the head themselves, and expect a token's numbers not to depend on other rows."""
    import torch

    rotary = getattr(model.config, "rope_parameters", None) or {}
    kind = rotary.get("rope_type") if isinstance(rotary, dict) else None
    if kind in BATCHED_ROTARY:
        return f"its positions ({kind}) depend on the longest text of a batch"
    for name in ("final_logit_softcapping", "logits_soft_cap"):
        if cap := getattr(model.config, name, None):
            return f"its logits are capped after the head ({name}: {cap:g})"
    ids = torch.arange(4, device=model.device)[None] % int(model.config.vocab_size)
    with torch.inference_mode():
        whole = model(input_ids=ids).logits.float()
        hidden = model.base_model(input_ids=ids).last_hidden_state
        head = model.get_output_embeddings()(hidden).float()
    scale = float(head.abs().max()) or 1.0
    if not torch.allclose(whole, head, atol=1e-2 * scale):
        return "its logits are more than what its head gives (they are scaled or capped)"
    return ""


def fuse_norms(model: Any) -> None:
    """Let each RMS norm of ``model`` run as one kernel in place of seven. A layer is a RMS norm if
    it computes one, whatever its class is called; others stay as they are."""
    import torch

    for layer in model.modules():
        epsilon, takes = getattr(layer, "variance_epsilon", None), signature(layer.forward)
        if epsilon is None or len(takes.parameters) > 1:  # with a gate, it is more than a norm
            continue
        norm = torch.nn.RMSNorm(tuple(layer.weight.shape), epsilon, device="meta")
        norm.weight = layer.weight
        x = torch.linspace(-2, 3, layer.weight.numel(), device=layer.weight.device)
        x = x.to(layer.weight.dtype)
        with torch.inference_mode():
            if torch.allclose(layer(x).float(), norm(x).float(), rtol=2e-2, atol=2e-2):
                layer.forward = norm.forward


def main() -> int:
    """Print the folder of the model that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m xgl.models.resolve", description="Get a model; print the folder it is in."
    )
    parser.add_argument("reference", help="embedded, smollm2, a folder, or a hub id")
    print(resolve(parser.parse_args().reference))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
