"""Fine-tunes of runs as base models: players, judges and samplers of runs to come (§7.3.4)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from support.example import EXAMPLE, FINETUNE, FINETUNES, GAMES, SHA
from support.search import Listed, Search, code, of_limits

from archive import Archive
from evo.jobs.lora import AdaptedModel
from evo.jobs.merged import adapter_of, pinned
from xgl.errors import ModelNotFoundError
from xgl.judge.loading import load_model
from xgl.models.references import AdapterName
from xgl.models.resolve import resolve

GAME = GAMES[0][:8]


def named_by(digit: str) -> set[str]:
    ids = [[row[name] for name in ("finetune_id", "adapter_hash", "game_id")] for row in FINETUNES]
    return {each[1] for each in ids if any(name.startswith(digit) for name in each)}


DIGIT = max("0123456789abcdef", key=lambda digit: len(named_by(digit)))
"""Begins the ids of several fine-tunes."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XGL_CACHE", str(tmp_path / "cache"))


def logprobs(lm: Any) -> torch.Tensor:
    ids = torch.tensor([[lm.bos, *lm.encode("The old king had a daughter who loved the sea.")]])
    with torch.no_grad():
        return torch.log_softmax(lm.logits(lm.backbone(input_ids=ids).last_hidden_state), -1)


def test_the_new_base_gives_the_log_probabilities_of_base_and_adapter() -> None:
    _, adapter, player = adapter_of(AdapterName(str(EXAMPLE), SHA[:8]))
    adapted_model = AdaptedModel(load_model(player.model, "float32", "cpu"), player)
    base = logprobs(adapted_model.base)
    with adapted_model.with_adapter(adapter) as lm:
        expected = logprobs(lm)
    merged = logprobs(load_model(f"adapter:{EXAMPLE}:{SHA[:8]}", "float32", "cpu"))
    torch.testing.assert_close(merged, expected, atol=2e-4, rtol=0)
    assert (expected - base).abs().max() > 0.5, "the adapter changes the model"


def test_it_is_merged_once_and_holds_whatever_names_it(tmp_path: Path) -> None:
    names = [GAME, FINETUNE[:8], SHA[:8], SHA]  # game, fine-tune, adapter
    folders = {resolve(f"adapter:{EXAMPLE}:{name}") for name in names}
    assert len(folders) == 1
    [folder] = folders
    assert folder.parent == tmp_path / "cache" / "merged"
    assert len(list(folder.parent.iterdir())) == 1
    assert pinned("embedded", "player.model") == "embedded"
    assert pinned(f"adapter:{EXAMPLE}:{GAME}", "player.model") == f"adapter:{EXAMPLE}:{SHA}"


FAULTS = {
    "adapter:RUN:none": "0 fine-tunes of RUN begin with 'none', expected one",
    f"adapter:RUN:{DIGIT}": f"{len(named_by(DIGIT))} fine-tunes of RUN begin with '{DIGIT}'",
    f"adapter:RUN:{SHA}@smollm2": "found @smollm2, expected the base of RUN, embedded",
}


@pytest.mark.parametrize("reference", FAULTS)
def test_a_reference_that_means_no_fine_tune_is_one_sentence(reference: str) -> None:
    expected = FAULTS[reference].replace("RUN", str(EXAMPLE))
    with pytest.raises(ModelNotFoundError) as error:
        resolve(reference.replace("RUN", str(EXAMPLE)))
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_a_curriculum_is_named_with_its_replicate(tmp_path: Path) -> None:
    run = shutil.copytree(EXAMPLE, tmp_path / "run")
    row = {"run_id": "x", "finetune_id": "c" * 16, "curriculum": "cover", "replicate": 1}
    row |= {"game_ids": [], "roles": [], "seed": 0, "steps": 0, "settings_json": "{}"}
    row |= {"curve": [], "entropy": [], "grad_norm": [], "tokens": 0, "seconds": 0.0}
    with Archive.open(run / "archive", "a") as archive:
        archive.commit({"curricula": [row | {"adapter_hash": SHA}]})
    assert resolve(f"adapter:{run}:cover.1") == resolve(f"adapter:{EXAMPLE}:{SHA}")
    with pytest.raises(ModelNotFoundError, match=r"0 fine-tunes of .* begin with 'cover'"):
        resolve(f"adapter:{run}:cover")


def test_a_strangers_run_names_no_base_that_the_user_does_not_name(tmp_path: Path) -> None:
    run = shutil.copytree(EXAMPLE, tmp_path / "run")
    with Archive.open(run / "archive", "a") as archive:
        [created] = [row for row in archive.rows("runs") if row["event"] == "created"]
        config = json.loads(created["config_json"])
        config["player"]["model"] = "evil/model"
        archive.commit({"runs": [created | {"config_json": json.dumps(config)}]})
    with pytest.raises(ModelNotFoundError, match="to use it, add @evil/model"):
        resolve(f"adapter:{run}:{SHA}")


def test_a_run_pins_its_base_and_finds_it_again(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = f"adapter:{EXAMPLE}:{GAME}"
    models = (f"player.model={reference}", f"player.npc={reference}", f"judge.second={reference}")
    sampler = Listed([code(7)])
    assert search.run(of_limits(), *models, "growth.max_accepted=1", sampler=sampler) == 0
    config: Any = OmegaConf.load(search.folder / "run" / "config.yaml")
    assert config.player.model == config.player.npc == f"adapter:{EXAMPLE}:{SHA}"
    assert config.judge.second == config.player.model
    assert config.judge.model == "embedded"
    archived = json.loads(search.rows("runs")[0]["config_json"])
    assert archived["player"]["model"] == config.player.model
    shutil.rmtree(search.folder / "cache")
    assert search.go_on(of_limits(), "growth.max_accepted=2") == 0
    capsys.readouterr()
    assert search.run(of_limits(), f"player.model=adapter:{EXAMPLE}:ffff", name="other") == 2
    assert "0 fine-tunes of" in capsys.readouterr().err
