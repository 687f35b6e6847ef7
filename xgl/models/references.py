"""References to models as users write them: the one reader of them.

A player is a model of this machine, ``REFERENCE`` or ``REFERENCE@TEMPERATURE``; a fine-tune of a
run, ``adapter:RUN:ID``; a LoRA, ``peft:FOLDER@MODEL``; or a model behind an endpoint,
``chat:MODEL@URL``, or an instruct model of this machine, ``chat:MODEL@local``. A judge is a model
of this machine, or one behind a server, ``vllm:MODEL@URL``.
The texts of maps come from a corpus, from a file, or from a model that writes them.

Where a model goes is a setting too: on one device, or with its blocks on several.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

from xgl.errors import ConfigError
from xgl.files import BUILT_IN, user_path

CORPUS, JUDGE = "corpus", "judge"
"""Sources of stories: the package's corpus, and the judge's own model."""
HERE = "@local"
"""In the place of an endpoint's address: an instruct model of this machine."""
TEXT_FILE = ".txt"
AT_URL = "chat:MODEL@http(s)://host[:port]/v1"
OPENAI = "https://api.openai.com/v1"
EXPECTED = (
    "expected embedded, smollm2, a model folder or a hub id, and with @T after it its temperature "
    "T, such as embedded@0.5; adapter:RUN_FOLDER:FINETUNE_ID or adapter:RUN_FOLDER:CURRICULUM; "
    "peft:FOLDER or peft:FOLDER@MODEL for a LoRA trained elsewhere; or "
    "chat:MODEL, chat:MODEL@URL for a model behind an OpenAI-compatible endpoint; or "
    "chat:MODEL@local for an instruct model of this machine"
)
_KINDS = ("chat", "vllm", "adapter", "peft")
_AT_URL = re.compile(r"(?P<model>.+?)@(?P<url>https?://.*)", re.IGNORECASE)
_WARM = re.compile(r"(?P<reference>.+)@(?P<temperature>\d{1,3}(\.\d{1,6})?)")
_HOST = re.compile(r"[^:]*:\d+|(.+\.)?localhost|\d+(\.\d+){3}", re.IGNORECASE)
"""A machine without scheme and path; a fine-tune at OpenAI has more colons."""
_ADAPTER = re.compile(r"(?P<run>.+):(?P<id>[0-9a-f]+|[a-z]+(\.\d+)?)(@(?P<model>.+))?")


@dataclass(frozen=True)
class LocalName:
    reference: str
    temperature: float = 1.0


@dataclass(frozen=True)
class InstructName:
    """A model of this machine that is asked through its chat template."""

    reference: str


@dataclass(frozen=True)
class AdapterName:
    """``finetune``: beginning of the fine-tune's id, or of its game's; or the name of a curriculum,
    followed by .K for its training seed K (default 0); ``model``: its base, which is needed where
    a stranger's run names it; empty: the model that its run names."""

    run: str
    finetune: str
    model: str = ""


@dataclass(frozen=True)
class PeftName:
    """``model``: its base; empty: the model that its configuration names."""

    folder: str
    model: str
    temperature: float = 1.0


@dataclass(frozen=True)
class ChatName:
    model: str
    url: str


@dataclass(frozen=True)
class ServerName:
    """A judge behind a server; ``model`` is also the reference of its tokenizer."""

    model: str
    url: str


Name = LocalName | InstructName | AdapterName | PeftName | ChatName | ServerName


def parse(text: str, key: str = "players") -> Name:
    """The parts of a reference; ``key`` is the setting that holds it.

    >>> parse("chat:gpt-4o-mini@https://host/v1")
    ChatName(model='gpt-4o-mini', url='https://host/v1')
    >>> parse("embedded@0.5")
    LocalName(reference='embedded', temperature=0.5)

    Raises :class:`ConfigError` for what is none.
    """
    kind, _, rest = text.partition(":")
    at_url = _AT_URL.fullmatch(rest)
    reference, temperature = rest if kind == "peft" else text, 1.0
    if warm := _WARM.fullmatch(reference):
        reference, temperature = warm["reference"], float(warm["temperature"])
    name: Name | None = None
    fault = EXPECTED
    if is_folder(text):
        name = LocalName(text)
    elif kind == "vllm":
        fault = "expected vllm:MODEL@http(s)://host[:port]/v1"
        name = ServerName(at_url["model"], at_url["url"]) if at_url else None
    elif kind == "chat" and at_url:
        name = ChatName(at_url["model"], at_url["url"])
    elif kind == "chat" and rest.endswith(HERE):
        name = InstructName(rest.removesuffix(HERE))
    elif kind == "chat":
        fault = model_name_fault(rest, OPENAI)
        name = None if fault else ChatName(rest, OPENAI)
    elif kind == "peft":
        folder, at, model = reference.partition("@")
        if folder and bool(at) == bool(model):
            name = PeftName(folder, model, temperature)
    elif match := _ADAPTER.fullmatch(rest if kind == "adapter" else ""):
        name = AdapterName(match["run"], match["id"], match["model"] or "")
    elif text and kind.strip().lower() not in _KINDS:
        name = LocalName(reference, temperature)
    if name is None:
        raise ConfigError(f"{key}: found {text!r}, {fault}")
    return name


def is_text_file(reference: str) -> bool:
    """Whether a source of stories is a file of texts."""
    return reference.endswith(TEXT_FILE) and not is_folder(reference)


def is_corpus(reference: str) -> bool:
    """Whether a source of stories holds texts that are there, so that it can follow no prompt."""
    return reference == CORPUS or is_text_file(reference)


def check_stories(reference: str) -> str:
    """Raises ValueError for what names no source of stories."""
    if is_corpus(reference) or reference == JUDGE:
        return reference
    with suppress(ConfigError):
        name = parse(reference)
        is_place = reference in BUILT_IN or "/" in reference or is_folder(reference)
        if name == LocalName(reference) and is_place:
            return reference
    raise ValueError(
        f"found {reference!r}, expected {CORPUS}, a file of texts ({TEXT_FILE}), {JUDGE} or a "
        "model of this machine"
    )


def is_server(reference: str) -> bool:
    """Whether a judge's reference names a server."""
    return reference.startswith("vllm:") and not is_folder(reference)


def is_folder(text: str) -> bool:
    """Whether a folder of this machine has that name."""
    with suppress(ConfigError):  # an unknown user or variable
        return bool(text) and os.path.isdir(user_path(text))
    return False


def model_name_fault(model: str, url: str) -> str:
    """Why this is no name of a model at ``url``, as a clause; empty for a good one.

    OpenAI, where a model without a URL is looked for, must not be sent what is meant for another
    endpoint; its own names hold neither ``@`` nor ``/`` and are no hosts."""
    if not model.strip():
        return "expected the name of a model"
    is_elsewhere = set("@/") & set(model) or _HOST.fullmatch(model)
    if "://" in model or (url.rstrip("/") == OPENAI and is_elsewhere):
        return f"expected the endpoint's URL beside the name, as in {AT_URL}, or as base_url"
    return ""


WEIGHTS_SHARE = 0.6
"""Share of a GPU's memory that weights may take: passes, caches and gradients take the rest."""
BLOCK = re.compile(r"\.(\d+)\.")
"""The number of a block in the path of a layer or tensor."""
_DEVICES = re.compile(r"auto|cpu|cuda(:\d+(\+\d+)*)?")


def check_device(text: str) -> str:
    """Raises ValueError unless ``text`` names devices as settings do."""
    if not _DEVICES.fullmatch(text):
        raise ValueError(f"found {text!r}, expected auto, cpu, cuda:N, or cuda:N+M for several")
    return text


def devices_of(text: str) -> list[str]:
    """The devices that a setting names, in its order.

    >>> devices_of("cuda:1+2+0")
    ['cuda:1', 'cuda:2', 'cuda:0']
    """
    kind, _, numbers = text.partition(":")
    return [f"{kind}:{number}" for number in numbers.split("+")] if numbers else [text]


def check_share(gpus: float, **devices: str) -> None:
    """Raises ValueError unless a worker of so many GPUs has all that ``devices`` (by
    section) name, and uses all that it has."""
    named = {key: {*devices_of(text)} - {"auto", "cpu"} for key, text in devices.items()}
    last = f" or numbers up to {max(1, round(gpus)) - 1}" if gpus else ""
    for key, own in named.items():
        if any(int(each.partition(":")[2] or 0) >= gpus for each in own):
            raise ValueError(
                f"{key}.device: found {devices[key]}, and a worker has {gpus:g} GPUs, expected "
                f"auto, cpu{last}"
            )
    if gpus > 1 and len(set.union(*named.values())) < gpus:
        raise ValueError(
            f"cluster.gpus_per_worker: found {gpus:g} GPUs with the judge's, of which judge.device "
            "and player.device do not use all; expected them to, as cuda:0 and cuda:1+0"
        )


def placement(model: Any, devices: Sequence[str], rooms: Sequence[float]) -> dict[str, str]:
    """The device of each part of a model, as ``from_pretrained`` takes it: on as few of
    ``devices``, the first ones, as have room (bytes) for its weights. Of several each has its part
    of the blocks; all that is not in a block is on the first. Raises ValueError without room."""
    blocks, rest = Counter[str](), 0
    for name, tensor in chain(model.named_parameters(), model.named_buffers()):
        if block := BLOCK.search(name):
            blocks[name[: block.end(1)]] += tensor.nbytes
        else:
            rest += tensor.nbytes
    tied = model.named_parameters(remove_duplicate=False)  # a tied head needs a place too
    tensors = [name for name, _ in chain(tied, model.named_buffers()) if not BLOCK.search(name)]
    others = {name.rpartition(".")[0]: devices[0] for name in tensors}
    size, sums = rest + blocks.total(), list(accumulate(rooms))
    count = next((n for n, room in enumerate(sums, 1) if size <= room), None)
    if count is None:
        raise ValueError(
            f"its weights take {size / 2**30:.1f} GiB, and {', '.join(devices)} have room for "
            f"{sums[-1] / 2**30:.1f} ({WEIGHTS_SHARE:.0%} of their memory), expected more GPUs or "
            "a smaller model"
        )
    if count == 1:
        return {"": devices[0]}
    ends, used = [room * size / sums[count - 1] for room in sums[: count - 1]], rest
    for path, part in blocks.items():
        others[path] = devices[bisect_right(ends, used + part / 2)]
        used += part
    return others
