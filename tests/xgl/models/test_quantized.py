"""Quantized checkpoints: FP8 is read where there is no GPU too, others need their library."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from xgl.errors import ModelNotFoundError
from xgl.models.resolve import EMBEDDED, load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EMBEDDED, tmp_path / "m")
    return tmp_path / "m"


def quantize(folder: Path, **settings: Any) -> None:
    """Say in the configuration how the weights are stored."""
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"quantization_config": settings}))


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
