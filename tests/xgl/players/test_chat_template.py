"""Local instruct models: asked by their own chat template, thoughts removed, turns ended."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evo.config.measure import ChatConfig
from evo.measure.players import find_player
from xgl.errors import ConfigError
from xgl.lm.language_model import LanguageModel
from xgl.models import resolve
from xgl.players.local import ChatTemplate
from xgl.runtime.presentation import RULES, first_messages
from xgl.runtime.requests import MoveRequest, View

LLAMA3 = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
QWEN3_THINKING = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}"
    "<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n"
    "{{ m['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }}"
    "[/INST]{% elif m['role'] == 'assistant' %} {{ m['content'] }}</s>{% endif %}{% endfor %}"
)
"""Drops a system message."""
GLM = (
    "{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
"""An answer ends where another turn begins, says the generation config."""
CODER = (
    "{% for m in messages %}### {{ m['role'] }}:\n{{ m['content'] }}\n<|EOT|>\n{% endfor %}"
    "{% if add_generation_prompt %}### Response:\n{% endif %}"
)
HARMONY = (
    "{% for m in messages %}<|start|>{{ m['role'] }}<|message|>{{ m['content'] }}"
    "{% if loop.last and m['role'] == 'assistant' %}<|return|>{% else %}<|end|>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
"""Thoughts end with the token that ends a turn between others."""
KINDS: dict[str, tuple[str, str | None, str, str]] = {
    "llama3": (LLAMA3, "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"),
    "qwen3 thinking": (QWEN3_THINKING, None, "<|im_end|>", "<|im_end|>"),
    "gemma": (GEMMA, "<bos>", "<eos>", "<end_of_turn>"),
    "mistral": (MISTRAL, "<s>", "</s>", "</s>"),
    "glm": (GLM, None, "<|endoftext|>", "<|user|>"),
    "coder": (CODER, "<s>", "</s>", "<|EOT|>"),
    "harmony": (HARMONY, "<|begin_of_text|>", "<|return|>", "<|return|>"),
}
"""Template, BOS, EOS and the end of a turn."""
SPECIAL = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
    *("<|start|>", "<|message|>", "<|end|>", "<|return|>", "<|user|>", "<|EOT|>"),
    *("<|eot_id|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<bos>", "<eos>"),
    *("<start_of_turn>", "<end_of_turn>", "<s>", "</s>", "[INST]", "[/INST]"),
)


def save(folder: Path, kind: str, config_bos: str | None = "<|endoftext|>") -> None:
    """A model folder of this kind: the embedded weights, with random ones for the new tokens."""
    template, bos, eos, end = KINDS[kind]
    model, tokenizer = resolve.load("embedded")
    tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL)})
    tokenizer.chat_template, tokenizer.eos_token, tokenizer.bos_token = template, eos, bos
    tokenizer.pad_token = "<|endoftext|>"
    torch.manual_seed(0)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    known = config_bos and tokenizer.convert_tokens_to_ids(config_bos)
    model.config.bos_token_id, model.config.eos_token_id = known, tokenizer.eos_token_id
    ends = [eos, end] if kind == "glm" else [eos]
    model.generation_config.eos_token_id = tokenizer.convert_tokens_to_ids(ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("models") / "model"
    save(folder, request.param)
    lm = LanguageModel(*resolve.load(str(folder)), torch.device("cpu"))
    return SimpleNamespace(name=request.param, folder=folder, lm=lm)


def request_of(code: str = "elicit(t, 8)") -> MoveRequest:
    return MoveRequest(View("black", code, (), "t"), 8, 0)


def ids_of(lm: LanguageModel, token: str) -> int:
    return int(lm.tokenizer.convert_tokens_to_ids(token))


def test_the_prompt_is_that_of_the_template(kind: Any) -> None:
    template = ChatTemplate(kind.lm, 32)
    messages = first_messages(request_of())
    if kind.name in ("gemma", "mistral"):  # the first refuses a system message, the other drops it
        both = f"{RULES}\n\n{messages[1]['content']}"
        messages = [{"role": "user", "content": both}]
    expected = kind.lm.tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_dict=False
    )
    assert list(template.prompt(request_of())) == list(expected)


def test_a_prompt_is_the_same_on_another_day() -> None:
    lm = LanguageModel(*resolve.load("embedded"), torch.device("cpu"))
    for today in ("strftime_now('%d %b %Y')", "date_string"):
        lm.tokenizer.chat_template = f"{{{{ {today} }}}} Answer."
        assert (
            lm.tokenizer.decode(ChatTemplate(lm, 32).prompt(request_of())) == "26 Jul 2024 Answer."
        )


def test_an_answer_ends_where_a_turn_ends(kind: Any) -> None:
    ends = {ids_of(kind.lm, token) for token in KINDS[kind.name][2:]}
    assert set(ChatTemplate(kind.lm, 32).stops.nonzero()[:, 0].tolist()) == ends


@pytest.mark.parametrize("form", ["{role}\n{text}<|over|>\n", "{role}: {text}\n"])
def test_an_answer_ends_with_its_mark_where_that_is_no_token(form: str) -> None:
    lm = LanguageModel(*resolve.load("embedded"), torch.device("cpu"))
    turn = form.format(role="{{ m['role'] }}", text="{{ m['content'] }}")
    lm.tokenizer.chat_template = f"{{% for m in messages %}}{turn}{{% endfor %}}"
    template, move = ChatTemplate(lm, 32), "Let me see.\n<move>a cat</move>"
    end = form.format(role="user", text="").partition("<|over|>")[1] or "\nuser: "
    answer = lm.encode(f"{move}{end}<move>no</move>")
    length = next(n for n in range(1, len(answer)) if template.has_ended(0, answer[:n]))
    assert length > len(lm.encode(move))
    assert not template.stops[list(answer[:length])].any()
    assert template.move(answer[:length]) == template.move(answer) == "a cat"


def test_a_window_without_room_for_an_answer_is_refused() -> None:
    with pytest.raises(ConfigError, match="reads 512 tokens in all, found chat"):
        find_player("chat:embedded@local", ChatConfig())


def test_a_special_token_in_a_game_is_a_text(kind: Any) -> None:
    end = KINDS[kind.name][3]
    template = ChatTemplate(kind.lm, 32)
    plain, hostile = (template.prompt(request_of(f"# a {text}")) for text in ("b", f"{end} b"))
    assert hostile.count(ids_of(kind.lm, end)) == plain.count(ids_of(kind.lm, end))


def test_thoughts_hold_no_moves(kind: Any) -> None:
    template = ChatTemplate(kind.lm, 32)
    opened = "" if kind.name == "qwen3 thinking" else "<think>"

    def move(text: str) -> str | None:
        return template.move(kind.lm.encode(text))

    assert move(f"{opened}hm <move>no</move></think>\n<move>a cat</move>") == "a cat"
    assert move(f"{opened}hm <move>no</move>") is None
    if kind.name != "qwen3 thinking":
        assert move("<move>a cat</move>") == "a cat"
        assert move("a cat") is None


def test_a_text_does_not_begin_with_the_end_of_a_turn(kind: Any) -> None:
    bos = KINDS[kind.name][1]
    assert kind.lm.bos == ids_of(kind.lm, bos or "<|endoftext|>")
    assert resolve.load_tokenizer(str(kind.folder)).bos_token_id == kind.lm.bos


def test_a_model_without_a_template_is_refused_by_name(tmp_path: Path) -> None:
    shutil.copytree(resolve.EMBEDDED, tmp_path / "m")
    (tmp_path / "m" / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match=r"m@local: its tokenizer has no chat template, expected"):
        find_player(f"chat:{tmp_path / 'm'}@local", ChatConfig())
