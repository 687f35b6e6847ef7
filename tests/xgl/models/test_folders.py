"""Folders of models and adapters as strangers pack them: one sentence, nothing run or asked."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from peft import LoraConfig, get_peft_model

from evo.config.measure import ChatConfig
from evo.jobs.lora import CONFIG, WEIGHTS
from evo.measure.players import LocalPlayer, find_player
from xgl.errors import ConfigError, ModelNotFoundError
from xgl.models.resolve import EMBEDDED, load

DEEP = "[" * 100_000
NO_OBJECTS = {"list": "[]", "deep": DEEP, "cut": '{"a": ', "no UTF-8": "\udcff"}


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
    "a configuration in code": code(AutoConfig="own.Config"),
    "a tokenizer in code": change(
        "tokenizer_config.json",
        tokenizer_class="OwnTokenizer",
        auto_map={"AutoTokenizer": ["own.Tokenizer", None]},
    ),
    "no architecture": write("config.json", "{}"),
    "odd sizes": change("config.json", hidden_size="wide"),
    "no heads": change("config.json", num_attention_heads=0),
    "odd positions": change("config.json", rope_parameters=["linear"]),
    "an odd type": change("config.json", dtype="int12"),
    **{
        f"quantised by {method}": change("config.json", quantization_config=settings)
        for method, settings in {
            "fp8": {"quant_method": "fp8"},
            "tomorrow": {"quant_method": "tomorrow"},
            "a list": [4],
        }.items()
    },
    **{f"{name} as config.json": write("config.json", text) for name, text in NO_OBJECTS.items()},
    **{
        f"{name} as tokenizer.json": write("tokenizer.json", text)
        for name, text in NO_OBJECTS.items()
    },
    **{
        f"{name} as index": write("model.safetensors.index.json", text)
        for name, text in {"list": "[]", "deep": DEEP}.items()
    },
    **{f"a pipe as {name}": pipe(name) for name in ("config.json", "model.safetensors")},
    **{f"a device as {name}": device(name) for name in ("config.json", "tokenizer.json")},
}
HARMLESS = {"list as index", "deep as index", "quantised by fp8", "quantised by tomorrow"}
"""The index of weights that are in one file is not read, and these are as good as not quantised."""


def refusal_of(folder: Path, use: Callable[[Path], object]) -> None:
    """That it is one sentence with the folder, and nothing in the folder was run."""
    with pytest.raises((ConfigError, ModelNotFoundError)) as error:
        use(folder)
    message = str(error.value)
    assert str(folder) in message
    assert "\n" not in message
    assert len(message) < 800
    assert not (folder.parent / "run").exists()


@pytest.mark.parametrize("kind", sorted(MODELS.keys() - HARMLESS))
def test_a_models_folder_that_does_not_load_is_one_sentence(tmp_path: Path, kind: str) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    MODELS[kind](tmp_path / "model")
    refusal_of(tmp_path / "model", lambda folder: load(str(folder)))


@pytest.mark.parametrize("kind", sorted(HARMLESS))
def test_what_changes_no_number_is_loaded(tmp_path: Path, kind: str) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "model")
    MODELS[kind](tmp_path / "model")
    model, base = load(str(tmp_path / "model"))[0], load("embedded")[0]
    for parameter, expected in zip(model.parameters(), base.parameters(), strict=True):
        assert parameter.equal(expected)


ADAPTERS = {
    "pickled weights": pickled("adapter_model.bin", WEIGHTS),
    "odd rank": change(CONFIG, r="wide"),
    "an odd pattern": change(CONFIG, target_modules="(("),
    "odd patterns": change(CONFIG, rank_pattern=["q_proj"]),
    "a list as kind": change(CONFIG, peft_type=["LORA"]),
    "damaged weights": write(WEIGHTS, "damaged"),
    "other layers": change(CONFIG, target_modules=["c_attn"]),
    "megatron": change(CONFIG, megatron_config={"hidden": 3}),
    **{f"{name} as {CONFIG}": write(CONFIG, text) for name, text in NO_OBJECTS.items()},
    **{f"a pipe as {name}": pipe(name) for name in (CONFIG, WEIGHTS)},
    **{f"a device as {name}": device(name) for name in (CONFIG, WEIGHTS)},
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
