"""The embedded model's tokenizer: SmolLM2's byte-level BPE, pruned to the tokens that we use.

A pruned token keeps its meaning: every kept id maps to one id of the reference vocabulary, so the
reference's embeddings can start ours and its next-token distributions can teach ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

BOS, EOS = "<|bos|>", "<|eos|>"
SPECIALS = (BOS, EOS)
BOS_ID, EOS_ID = 0, 1


def read_spec(path: Path) -> dict[str, Any]:
    """A `tokenizer.json` as a dictionary."""
    spec: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return spec


def merges_of(spec: dict[str, Any]) -> list[tuple[str, str]]:
    """The merges in rank order (older files write a pair as one string)."""
    pairs = (m.split(" ") if isinstance(m, str) else m for m in spec["model"]["merges"])
    return [(first, second) for first, second in pairs]


def parents(merges: Sequence[tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """For each merged token, the pair it is built from (its lowest rank)."""
    pairs: dict[str, tuple[str, str]] = {}
    for first, second in merges:
        pairs.setdefault(first + second, (first, second))
    return pairs


def byte_symbols() -> list[str]:
    """The 256 symbols of byte-level BPE, ordered by byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in printable}
    for rank, byte in enumerate(b for b in range(256) if b not in table):
        table[byte] = chr(256 + rank)
    return [table[byte] for byte in range(256)]


def usage(reference: Tokenizer, weighted: Iterable[tuple[str, float]]) -> Counter[str]:
    """How often the reference uses each token, over (text, weight)."""
    counts: Counter[str] = Counter()
    for text, weight in weighted:
        for token in reference.encode(text, add_special_tokens=False).tokens:
            counts[token] += weight  # type: ignore[assignment]  # weights are real numbers
    return counts


def keep(counts: Counter[str], pairs: dict[str, tuple[str, str]], size: int) -> set[str]:
    """The most used tokens, `size` with specials, closed under "what it is merged from"."""
    vocabulary = set(byte_symbols())

    def tokens_to_add(token: str) -> set[str]:
        if token in vocabulary or token not in pairs:
            return set()
        first, second = pairs[token]
        return {token} | tokens_to_add(first) | tokens_to_add(second)

    for token, _ in counts.most_common():
        new_tokens = tokens_to_add(token)
        if len(vocabulary) + len(new_tokens) + len(SPECIALS) <= size:
            vocabulary |= new_tokens
    return vocabulary


def pruned_spec(spec: dict[str, Any], vocabulary: set[str]) -> dict[str, Any]:
    """The tokenizer with only the kept tokens: specials first, then by reference id."""
    old = spec["model"]["vocab"]
    order = [*SPECIALS, *sorted(vocabulary, key=lambda token: (old.get(token, -1), token))]
    merges = [[a, b] for a, b in merges_of(spec) if {a, b, a + b} <= vocabulary]
    model = spec["model"] | {"vocab": {t: i for i, t in enumerate(order)}, "merges": merges}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    special_tokens = [
        {"id": i, "content": t, "special": True} | flags for i, t in enumerate(SPECIALS)
    ]
    return spec | {"model": model, "added_tokens": special_tokens, "post_processor": None}


def reference_ids(spec: dict[str, Any], pruned: Tokenizer, bos: int, eos: int) -> list[int]:
    """For each of our ids, the reference's id of the same token (0 for bytes that it lacks)."""
    old = spec["model"]["vocab"]
    names = [pruned.id_to_token(i) for i in range(pruned.get_vocab_size())]
    special_ids = {BOS: bos, EOS: eos}
    return [special_ids[name] if name in special_ids else old.get(name, 0) for name in names]


def first_pieces(spec: dict[str, Any], pruned: Tokenizer) -> list[int]:
    """For each reference id, our id of the first piece of its text (EOS where it has none)."""
    symbols = {symbol: byte for byte, symbol in enumerate(byte_symbols())}
    vocab = spec["model"]["vocab"]
    special = {entry["content"] for entry in spec["added_tokens"]}
    own = pruned.get_vocab()
    result = [own[EOS]] * (max(vocab.values()) + 1)
    for name, index in vocab.items():
        if name in special:
            continue
        if name in own:
            result[index] = own[name]
        elif all(character in symbols for character in name):
            text = bytes(symbols[character] for character in name).decode("utf-8", "replace")
            result[index] = pruned.encode(text, add_special_tokens=False).ids[0]
    return result


RESPONSE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "assistant:\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>",
            "close_pattern": r"</tool_call>\s*",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|eos\|>\s*", "content": "text"},
    },
}
"""How an answer under the model's ``chat_template.jinja`` is read."""


def save(spec: dict[str, Any], folder: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`; nothing is added by itself."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": EOS,
        "pad_token": EOS,
        "add_bos_token": False,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 512,
        "response_template": RESPONSE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
