"""Which architectures play, judge and learn: ``python benchmarks/architectures.py [NAME …]``.

Each is a tiny model of random weights with the embedded model's tokenizer, saved and loaded as a
user's folder is. A judge's bits must not depend on the batch, nor a player's log-probabilities on
whether caches are shared; a fine-tune of two steps must change its adapter, and the adapter must
play.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, logging

from evo.config.models import (
    FinetuneConfig,
    JudgeConfig,
    ModelHostSettings,
    PlayerConfig,
    WarmStartConfig,
)
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Evaluation, Training
from evo.jobs.model_host import ModelHost
from xgl import XGLError, game, parse
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.dialects import PAPER
from xgl.lm.language_model import LanguageModel
from xgl.lm.sampling import Continuation, sample
from xgl.models.resolve import load, load_tokenizer
from xgl.runtime.requests import ScoreRequest

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
}
EXPERTS: dict[str, Any] = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}
LINEAR: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
}
DROP = object()
"""In the place of a size that an architecture does not take."""
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {},
    "qwen3_moe": EXPERTS,
    "mistral": {"sliding_window": None},
    "mixtral": EXPERTS,
    "gemma": {},
    "gemma2": {},
    "gemma3_text": {"sliding_window": 256},
    "gpt2": {"n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 512},
    "gpt_neo": {"num_layers": 4, "num_heads": 4, "attention_types": [[["global", "local"], 2]]},
    "gpt_neox": {},
    "gptj": {"n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 512, "rotary_dim": 16},
    "gpt_bigcode": {"n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 512},
    "gpt_oss": EXPERTS,
    "opt": {"word_embed_proj_dim": 64, "ffn_dim": 96},
    "bloom": {"n_layer": 4, "n_head": 4},
    "mpt": {"d_model": 64, "n_layers": 4, "n_heads": 4, "max_seq_len": 512},
    "falcon": {"head_dim": DROP},
    "phi": {},
    "phi3": {"pad_token_id": 0},
    "stablelm": {},
    "starcoder2": {},
    "olmo": {},
    "olmo2": {},
    "olmoe": EXPERTS,
    "cohere": {},
    "granite": {},
    "glm4": {"pad_token_id": 0},
    "smollm3": {"pad_token_id": 0},
    "deepseek_v3": EXPERTS
    | {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
    | {"head_dim": 8, "v_head_dim": 16, "n_group": 2, "topk_group": 1, "num_key_value_heads": 4},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "qwen3_next": EXPERTS | LINEAR | {"shared_expert_intermediate_size": 32},
    "qwen3_5_text": LINEAR,
    "mamba": {"state_size": 8},
    "mamba2": {"state_size": 8, "num_heads": 8, "head_dim": 16, "n_groups": 1},
    "falcon_mamba": {"state_size": 8},
    "rwkv": {"attention_hidden_size": 64, "context_length": 512},
    "recurrent_gemma": {"lru_width": 64},
}
GAME = "assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))"
MAPS = "Once upon a time a small red hen", "Once upon a time a", "The king", "Once upon a time"
MOVES = "lived by the river", "sang", "was very old and had no sons at all", "lived"
CLOSE = 2e-3
"""Bits by which a number may move with its batch."""
Check = Callable[[Path], str]


def save(name: str, folder: Path) -> None:
    """A tiny model of this architecture, with random weights and a tokenizer."""
    tokenizer, own = load_tokenizer("embedded"), dict(ARCHITECTURES[name])
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    sizes = {k: v for k, v in (SIZES | own).items() if v is not DROP}
    config = AutoConfig.for_model(name, vocab_size=len(tokenizer), **ends, **sizes)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def model_of(folder: Path) -> LanguageModel:
    """The model as a user's folder is loaded."""
    model, tokenizer = load(str(folder))
    return LanguageModel(model.requires_grad_(False), tokenizer, torch.device("cpu"))


def judges(folder: Path) -> str:
    """Bits in a batch against bits alone, by a pass of the whole model."""
    lm = model_of(folder)
    requests = [ScoreRequest(move, (map_,), PAPER.scoring) for map_ in MAPS for move in MOVES]
    together = TransformerJudge(lm).score(requests)
    alone = [TransformerJudge(lm).score([each])[0] for each in requests]
    apart = max(abs(a.total - b.total) for a, b in zip(together, alone, strict=True))  # type: ignore[union-attr]
    return "yes" if apart < CLOSE else f"{apart:.2g} bits apart"


def plays(folder: Path) -> str:
    """Moves sampled together, from prompts with common prefixes, and moves sampled alone."""
    lm = model_of(folder)
    prompts = [(lm.bos, *lm.encode(text)) for text in MAPS]
    draws = np.random.default_rng(0).random((len(prompts), 8))
    no_stop = torch.zeros(lm.model.config.vocab_size, dtype=torch.bool)

    def moves(rows: list[int]) -> list[Continuation]:
        some = [prompts[row] for row in rows]
        return sample(lm, some, [8] * len(rows), draws[rows], no_stop)

    together, alone = moves([0, 1, 2, 3]), [moves([row])[0] for row in range(4)]
    same = all(a.ids == b.ids for a, b in zip(together, alone, strict=True))
    return "yes" if same else "other moves in a batch"


def learns(folder: Path) -> str:
    """A fine-tune of two steps, and plays of its adapter beside the base player's."""
    warm = WarmStartConfig(maps=2, rollouts=4, edits=1)
    finetune = FinetuneConfig(tokens=3000, steps=2, maps=2, rollouts=4, warm_start=warm)
    player = PlayerConfig(model=str(folder), lora_rank=4, lora_alpha=8)
    host = ModelHost(ModelHostSettings(JudgeConfig(), player, finetune))
    task = replace(Task(game(parse(GAME, "xent")), "black"), floor=-60.0)
    trained = host.do(Training(task, 0)).outcome
    seeds = tuple(evaluation_seeds("architectures", 0, 4))
    both = host.do(Evaluation(task, (trained.adapter, None), (seeds, seeds))).outcome
    alone = host.do(Evaluation(task, (trained.adapter,), (seeds,))).outcome
    same = [play.moves for play in both[0]] == [play.moves for play in alone[0]]
    if not len(trained.curve):
        return "no step"
    return "yes" if same else "yes; other moves beside another policy"


def told(check: Check, folder: Path) -> str:
    """What a check says, or the first line of the error that ends it."""
    try:
        return check(folder)
    except Exception as error:  # noqa: BLE001  # the table says it
        reason = str(error).strip().partition("\n")[0].rpartition(f"{folder}': ")[2]
        is_refusal = isinstance(error, XGLError)
        return f"refused: {reason}" if is_refusal else f"{type(error).__name__}: {reason}"


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(ARCHITECTURES))
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print("| architecture | judges | plays | learns |\n| --- | --- | --- | --- |")
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / name
            save(name, folder)
            answers = [told(check, folder) for check in (judges, plays, learns)]
        if answers[0].startswith("refused"):
            answers[1:] = "", ""
        print(f"| `{name}` | {' | '.join(answers)} |", flush=True)


if __name__ == "__main__":
    main()
