"""Models whose weights do not fill them are refused by the names of the tensors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.faulty_weights import FAULTS

from xgl.errors import ModelNotFoundError
from xgl.judge.loading import load_judge
from xgl.models import smollm2
from xgl.models.resolve import EMBEDDED, load


def faulty_folder(folder: Path, fault: str) -> tuple[Path, str]:
    """A copy of the embedded model with faulty weights, and what its refusal must name."""
    change, named = FAULTS[fault]
    shutil.copytree(EMBEDDED, folder)
    tensors = load_file(folder / "model.safetensors")
    first = re.escape(next(iter(tensors)) if fault == "one is missing" else min(tensors))
    save_file(change(tensors), folder / "model.safetensors", {"format": "pt"})
    return folder, named.replace("{first}", first)


@pytest.mark.parametrize("fault", FAULTS)
def test_players_and_judges_refuse_weights_that_do_not_fill_them(
    tmp_path: Path, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, named = faulty_folder(tmp_path / "model", fault)
    with pytest.raises(ModelNotFoundError, match=named) as error:
        (load_judge if fault == "NaN" else load)(str(folder))
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("fault", ["one is missing", "infinite"])
def test_the_conversion_of_smollm2_keeps_nothing_of_such_weights(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, named = faulty_folder(tmp_path / "snapshot", fault)
    monkeypatch.setenv("XGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "hub_snapshot", lambda name: folder)
    with pytest.raises(ModelNotFoundError, match=named):
        smollm2.obtain()
    assert smollm2.cached_folder() is None


def test_the_conversion_of_whole_weights_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "hub_snapshot", lambda name: EMBEDDED)
    converted = load_file(smollm2.obtain() / "model.safetensors")
    for name, tensor in load_file(EMBEDDED / "model.safetensors").items():
        assert converted[name].equal(tensor.float())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EMBEDDED, tmp_path / "m")
    return tmp_path / "m"


def configure(folder: Path, **settings: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


def quantize(folder: Path, **settings: Any) -> None:
    """Say in the configuration how the weights are stored."""
    configure(folder, quantization_config=settings)


def test_a_folder_with_an_adapter_is_no_model(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(ModelNotFoundError, match="holds an adapter, which is measured by"):
        load(str(folder))


@pytest.mark.parametrize("key", ["attn_implementation", "experts_implementation"])
def test_a_folder_fetches_no_code(folder: Path, key: str) -> None:
    configure(folder, **{key: "owner/kernel"})
    with pytest.raises(ModelNotFoundError, match=f"takes code from elsewhere .{key}"):
        load(str(folder))


# -- Quantized checkpoints: FP8 is read where there is no GPU too, others need their library -------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_fp8_checkpoint_is_read_on_a_cpu(folder: Path, dtype: str) -> None:
    size, tensors = 128, dict[str, torch.Tensor]()
    for name, tensor in load_file(folder / "model.safetensors").items():
        tensors[name] = tensor
        if ".layers." in name and name.endswith("proj.weight"):
            scale = float(tensor.abs().max()) / 448
            tensors[name] = (tensor.float() / scale).to(torch.float8_e4m3fn)
            blocks = [-(-side // size) for side in tensor.shape]
            tensors[f"{name}_scale_inv"] = torch.full(blocks, scale)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    quantize(folder, quant_method="fp8", fmt="e4m3", weight_block_size=[size, size])
    model, _ = load(str(folder), dtype=dtype)
    exact, _ = load("embedded")
    assert {each.dtype for each in model.parameters()} == {getattr(torch, dtype)}
    ids = torch.arange(20, 40)[None]
    with torch.no_grad():
        change = (model(ids).logits.float() - exact(ids).logits).abs().mean()
    assert 0 < change < 0.5


@pytest.mark.parametrize("method", ["bitsandbytes", "gptq", "awq", "compressed-tensors"])
def test_without_their_library_the_refusal_is_one_sentence(folder: Path, method: str) -> None:
    quantize(folder, quant_method=method, load_in_4bit=True, bits=4, group_size=128)
    with pytest.raises(ModelNotFoundError, match=r"does not load: .*require[sd]") as refused:
        load(str(folder))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600
