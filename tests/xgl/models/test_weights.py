"""Models whose weights do not fill them are refused by the names of the tensors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
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
    for loader in (load, load_judge):
        with pytest.raises(ModelNotFoundError, match=named) as error:
            loader(str(folder))
        assert str(folder) in str(error.value)
        assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("fault", FAULTS)
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


def test_a_folder_with_an_adapter_is_no_model(tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    (tmp_path / "model" / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(ModelNotFoundError, match="holds an adapter, which is measured by"):
        load(str(tmp_path / "model"))


@pytest.mark.parametrize("key", ["attn_implementation", "experts_implementation"])
def test_a_folder_fetches_no_code(tmp_path: Path, key: str) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {key: "owner/kernel"}))
    with pytest.raises(ModelNotFoundError, match=f"takes code from elsewhere .{key}"):
        load(str(tmp_path / "model"))
