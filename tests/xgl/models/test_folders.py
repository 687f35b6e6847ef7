"""Folders of models and adapters as strangers pack them: one sentence, nothing run or asked;
weights that do not fill their model are refused by the names of the tensors."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from support.faulty_weights import FAULTS, faulty_folder

from evo.config.measure import ChatConfig
from evo.jobs.lora import CONFIG, WEIGHTS
from evo.measure.players import LocalPlayer, find_player
from xgl.errors import ConfigError, ModelNotFoundError
from xgl.judge.loading import load_judge
from xgl.models import smollm2
from xgl.models.resolve import EMBEDDED, load
from xgl.models.weights import dequantised, load_causal_lm

DEEP = "[" * 100_000


class Marker:
    """A pickle that makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.fixture(autouse=True)
def _nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> str:
        raise AssertionError("asked on the terminal")

    monkeypatch.setattr("builtins.input", ask)


def write(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (
        (folder / name).write_bytes(content.encode(errors="surrogateescape")) and None
    )


def change(name: str, **settings: Any) -> Callable[[Path], object]:
    def changed(folder: Path) -> None:
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(config | settings))

    return changed


def pickled(name: str, weights: str) -> Callable[[Path], object]:
    def replace_weights(folder: Path) -> None:
        (folder / weights).unlink()
        (folder / name).write_bytes(pickle.dumps(Marker(folder.parent / "run")))

    return replace_weights


def pipe(name: str) -> Callable[[Path], object]:
    def replace_file(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return replace_file


def device(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink() or (folder / name).symlink_to("/dev/zero")


def code(**auto_map: str) -> Callable[[Path], object]:
    """A folder with code of its own, for an architecture that transformers does not know."""

    def add_code(folder: Path) -> None:
        marker = folder.parent / "run"
        (folder / "own.py").write_text(f"import os\nos.mkdir({str(marker)!r})\n")
        change("config.json", model_type="of-its-own", auto_map=auto_map)(folder)

    return add_code


MODELS = {
    "pickled weights": pickled("pytorch_model.bin", "model.safetensors"),
    "a model in code": code(AutoConfig="own.Config", AutoModelForCausalLM="own.Model"),
    "a tokenizer in code": change(
        "tokenizer_config.json",
        tokenizer_class="OwnTokenizer",
        auto_map={"AutoTokenizer": ["own.Tokenizer", None]},
    ),
    "no architecture": write("config.json", "{}"),
    "deep JSON as config.json": write("config.json", DEEP),
    "a pipe as model.safetensors": pipe("model.safetensors"),
    "an end beyond the weights": change("tokenizer_config.json", eos_token="<|beyond|>"),
    "a device as config.json": device("config.json"),
}


def refusal_of(folder: Path, use: Callable[[Path], object]) -> None:
    """That it is one sentence with the folder, and nothing in the folder was run."""
    with pytest.raises((ConfigError, ModelNotFoundError)) as error:
        use(folder)
    message = str(error.value)
    assert str(folder) in message
    assert "\n" not in message
    assert len(message) < 800
    assert not (folder.parent / "run").exists()


@pytest.mark.parametrize("kind", MODELS)
def test_a_models_folder_that_does_not_load_is_one_sentence(tmp_path: Path, kind: str) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    MODELS[kind](tmp_path / "model")
    refusal_of(tmp_path / "model", lambda folder: load(str(folder)))


ADAPTERS = {
    "pickled weights": pickled("adapter_model.bin", WEIGHTS),
    "damaged weights": write(WEIGHTS, "damaged"),
    "other layers": change(CONFIG, target_modules=["c_attn"]),
    "megatron": change(CONFIG, megatron_config={"hidden": 3}),
    "a pipe": pipe(WEIGHTS),
}


def measured(folder: Path) -> None:
    player = find_player(f"peft:{folder}@embedded", ChatConfig())
    assert isinstance(player, LocalPlayer)
    with player.load("float32", "cpu"):
        pass


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters") / "adapter"
    settings = LoraConfig(r=2, target_modules=["q_proj"])
    get_peft_model(load("embedded")[0], settings).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.filterwarnings("ignore")
def test_an_adapters_folder_that_does_not_load_is_one_sentence(
    tmp_path: Path, adapter: Path, kind: str
) -> None:
    shutil.copytree(adapter, tmp_path / "adapter")
    ADAPTERS[kind](tmp_path / "adapter")
    refusal_of(tmp_path / "adapter", measured)


@pytest.mark.parametrize("fault", FAULTS)
def test_players_and_judges_refuse_weights_that_do_not_fill_them(
    tmp_path: Path, fault: str, capfd: pytest.CaptureFixture[str]
) -> None:
    named = faulty_folder(folder := tmp_path / "model", fault)
    with pytest.raises(ModelNotFoundError, match=named) as error:
        (load_judge if fault == "NaN" else load)(str(folder))
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)
    assert capfd.readouterr().err == ""


def test_the_conversion_of_smollm2_keeps_nothing_of_such_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = faulty_folder(folder := tmp_path / "snapshot", "one is missing")
    monkeypatch.setenv("XGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "wheel_folder", lambda staging: folder)
    monkeypatch.setattr(smollm2, "GGUF", None)  # its weights are safetensors
    with pytest.raises(ModelNotFoundError, match=named):
        smollm2.obtain()
    assert smollm2.cached_folder() is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EMBEDDED, tmp_path / "m")
    return tmp_path / "m"


def test_a_folder_with_an_adapter_is_no_model(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(ModelNotFoundError, match="holds an adapter, which is measured by"):
        load(str(folder))


def test_a_folder_fetches_no_code(folder: Path) -> None:
    change("config.json", attn_implementation="owner/kernel")(folder)
    with pytest.raises(ModelNotFoundError, match="takes code from elsewhere"):
        load(str(folder))


@pytest.mark.parametrize(("dtype", "gpu"), [("float32", 0), ("bfloat16", 0), ("float32", 9)])
def test_an_fp8_checkpoint_is_read_on_a_cpu(
    folder: Path, dtype: str, gpu: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``gpu``: the capability of one that is there too; 0: none."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu > 0)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda *_: (gpu, 0))
    size, tensors = 64, dict[str, torch.Tensor]()
    for name, tensor in load_file(folder / "model.safetensors").items():
        tensors[name] = tensor
        if ".layers." in name and name.endswith("proj.weight"):
            scale = float(tensor.abs().max()) / 448
            tensors[name] = (tensor.float() / scale).to(torch.float8_e4m3fn)
            blocks = [-(-side // size) for side in tensor.shape]
            tensors[f"{name}_scale_inv"] = torch.full(blocks, scale)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    stored = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [size, size]}
    change("config.json", quantization_config=stored)(folder)
    model, _ = load(str(folder), dtype=dtype)
    exact, _ = load("embedded")
    assert {each.dtype for each in model.parameters()} == {getattr(torch, dtype)}
    ids = torch.arange(20, 40)[None]
    with torch.no_grad():
        shift = (model(ids).logits.float() - exact(ids).logits).abs().mean()
    assert 0 < shift < 0.5
    dequantised(model).save_pretrained(folder / "again")
    again = load_causal_lm(folder / "again", getattr(torch, dtype))
    assert all(map(torch.equal, again.parameters(), model.parameters()))


def test_a_judges_tokenizer_tells_where_tokens_are(folder: Path) -> None:
    change("tokenizer_config.json", tokenizer_class="ByT5Tokenizer")(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelNotFoundError, match="its tokenizer is one in Python"):
        load_judge(str(folder))


@pytest.mark.parametrize("method", ["bitsandbytes", "compressed-tensors"])
def test_without_their_library_the_refusal_is_one_sentence(folder: Path, method: str) -> None:
    stored = {"quant_method": method, "load_in_4bit": True, "bits": 4, "group_size": 128}
    change("config.json", quantization_config=stored)(folder)
    with pytest.raises(ModelNotFoundError, match=r"does not load: .*require[sd]") as refused:
        load(str(folder))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600
