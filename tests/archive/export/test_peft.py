"""Adapters and archived moves as what other trainers read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.doubles import WordJudge
from support.measured import Given, build
from support.rows import row

from archive import Archive, Run
from archive.__main__ import main
from archive.export.folder import Options, export
from archive.export.games import adapter_config
from evo.config.measure import ChatConfig
from evo.config.models import PlayerConfig
from evo.jobs.lora import AdaptedModel, with_peft_folder
from evo.measure.players import LocalPlayer, find_player
from xgl import Cast, Instance, Seeds, play_all
from xgl.environments.rows import Row
from xgl.judge.loading import load_judge
from xgl.library import find
from xgl.players.local import LocalPolicy

CONTRAST = Given(find("contrast").text)
BOB = Given(find("message").text, "paper", "bob")
PLAYER = {
    "model": "embedded",
    "lora_rank": 4,
    "lora_alpha": 8,
    "lora_layers": 2,
    "temperature": 0.5,
}
CONFIG = {"judge": {"model": "embedded"}, "player": PLAYER, "seed": 7}


@pytest.fixture(scope="module")
def adapted_model() -> AdaptedModel:
    return AdaptedModel(load_judge("embedded").lm, PlayerConfig(**PLAYER))


@pytest.fixture(scope="module")
def adapter(adapted_model: AdaptedModel) -> bytes:
    """One that changes the model: PEFT begins with a B of zeros."""
    import torch

    with adapted_model.attached(adapted_model.new_factors(3)):
        for parameter in adapted_model.parameters():
            torch.nn.init.normal_(parameter, std=0.05)
        return adapted_model.adapter_bytes()


def scores(policy: LocalPolicy) -> list[float]:
    """Of plays of Contrast on four maps, by the embedded judge."""
    text_row = Row(CONTRAST.game, "black", 1, ("the red hen ran", "a tale of rain"), 0.0)
    cast = Cast(load_judge("embedded"), text_row, {"black": policy})
    plays = play_all([Instance(CONTRAST.game, Seeds(seed, 0)) for seed in range(4)], cast)
    return [play.scores["black"] for play in plays]


def test_the_layers_of_every_family_are_named() -> None:
    head = json.dumps({"base_model.model.transformer.h.3.attn.c_attn.lora_A.weight": {}}).encode()
    found = adapter_config(len(head).to_bytes(8, "little") + head, PLAYER)
    assert (found["target_modules"], found["layers_to_transform"]) == (["c_attn"], [3])


def test_plain_peft_plays_what_the_archived_adapter_plays(
    tmp_path: Path, adapted_model: AdaptedModel, adapter: bytes
) -> None:
    folder = build(tmp_path / "archive", [CONTRAST, BOB], config=CONFIG)
    with Archive.open(folder, "a") as archive:
        digest = archive.put_adapter(adapter)
        finetune = {"game_id": CONTRAST.game.game_id, "role": "black", "adapter_hash": digest}
        archive.commit({"finetunes": [row("finetunes", run_id="r1", finetune_id="f1", **finetune)]})
    out = tmp_path / "out"
    assert main(["export", str(folder), str(out), "--format", "peft"]) == 0
    name = f"{CONTRAST.game.game_id[:12]}-black-0"
    config = json.loads((out / name / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (4, 8)
    assert config["layers_to_transform"] == [2, 3]
    with adapted_model.with_adapter(adapter) as lm:
        expected = scores(LocalPolicy(lm))
    base = scores(LocalPolicy(adapted_model.base))
    plain = with_peft_folder(load_judge("embedded").lm, out / name)
    assert scores(LocalPolicy(plain)) == pytest.approx(expected, abs=1e-3)
    assert base != pytest.approx(expected, abs=1e-3)
    assert f"player=peft:{name}@embedded@0.5" in (out / "README.md").read_text()
    player = find_player(f"peft:{out / name}@0.5", ChatConfig())
    assert isinstance(player, LocalPlayer)
    found = player.reference, player.folder, player.temperature
    assert found == ("embedded", out / name, 0.5)


@pytest.mark.parametrize("model", ["embedded", 5])
def test_a_strangers_adapter_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], model: object
) -> None:
    config = {**CONFIG, "player": {**PLAYER, "model": model}}
    folder = build(tmp_path / "archive", [CONTRAST], config=config)
    with Archive.open(folder, "a") as archive:
        facts = {"game_id": CONTRAST.game.game_id, "role": "black"}
        facts["adapter_hash"] = archive.put_adapter(b"\2" + bytes(7) + b"[5]")
        archive.commit({"finetunes": [row("finetunes", run_id="r1", finetune_id="f1", **facts)]})
    assert main(["export", str(folder), str(tmp_path / "out"), "--format", "peft"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_best_and_the_worst_archived_moves_become_rows(tmp_path: Path) -> None:
    moves = (("a hen",), ("rain and boats",), ("no key",), ("dogs",))
    folder = build(tmp_path / "archive", [CONTRAST, BOB], moves=moves, judge=WordJudge())
    run = Run(Archive.open(folder))
    [said] = export(run, tmp_path / "sft", Options("sft"))
    assert said.startswith("3 rows")
    export(run, tmp_path / "dpo", Options("dpo"))
    plays = run.rows("scores")
    sft, dpo = (
        [json.loads(line) for line in (tmp_path / kind / "train.jsonl").read_text().splitlines()]
        for kind in ("sft", "dpo")
    )
    for best, pair in zip(sft, dpo, strict=True):
        own = sorted(
            (play["score"], play["moves"])
            for play in plays
            if (play["game_id"], play["map_seed"]) == (best["game_id"], best["map_seed"])
        )
        assert best["completion"] == pair["chosen"]
        assert best["completion"][0]["content"] == f"<move>{own[-1][1][0]}</move>"
        assert pair["rejected"][0]["content"] == f"<move>{own[0][1][0]}</move>"
        assert (pair["chosen_score"], pair["rejected_score"]) == (own[-1][0], own[0][0])
        assert [message["role"] for message in best["prompt"]] == ["system", "user"]
