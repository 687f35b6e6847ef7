"""What a run gets from the GPUs of a machine, unless it says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.config import hardware
from evo.config.compose import load
from evo.config.hardware import Hardware, find, reward_settings, settings_for
from evo.config.schema import RunConfig
from xgl.errors import ConfigError

H100 = Hardware(1, "NVIDIA H100 80GB HBM3", 81559)
RUN = ["+experiment=scope_growth", "archive.root=runs", "name=x"]


def test_a_machine_without_a_gpu_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "find", lambda: None)
    config = load(RunConfig, RUN)
    assert (config.cluster.gpus_per_worker, config.player.memory_mib) == (0.0, 1024)


@pytest.mark.parametrize(
    "own", ["cluster.gpus_per_worker=0", "cluster.address=10.0.0.1:6379", "cluster.trainers=1"]
)
def test_a_run_that_says_otherwise_is_left_alone(own: str) -> None:
    assert settings_for(H100, [*RUN, own]) == ()


def test_rewards_are_rounded_where_the_driver_s_processor_multiplies_in_bfloat16(
    tmp_path: Path,
) -> None:
    """Decided once: a worker on another processor rounds as the settings say."""
    cpuinfo = tmp_path / "cpuinfo"
    off = ("finetune.bfloat16_rewards=false",)
    assert reward_settings(RUN, cpuinfo) == off
    cpuinfo.write_text("flags : fpu avx512f\n")
    assert reward_settings(["finetune=deep"], cpuinfo) == off
    assert reward_settings(["finetune.bfloat16_rewards=true"], cpuinfo) == ()
    cpuinfo.write_text("flags : fpu avx512_bf16\n")
    assert reward_settings(["finetune=deep"], cpuinfo) == ()


def test_workers_share_a_gpu_and_its_memory() -> None:
    own = ["cluster.gpus_per_worker=0.2", "cluster.gpus_per_judge=0.05", "judge.dtype=float32"]
    found = dict(word.split("=") for word in settings_for(H100, own))
    assert found["cluster.workers"] == "4"
    assert found["player.memory_mib"] == str(int(81559 / 8 / 4))
    assert not {"cluster.gpus_per_worker", "judge.dtype"} & set(found)


def test_of_two_gpus_a_worker_the_judge_has_one_and_the_player_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_cluster = [*RUN, "cluster.gpus_per_worker=2", "cluster.address=10.0.0.1:6379"]
    assert load(RunConfig, on_cluster).player.device == "cuda:1+0"
    monkeypatch.setattr(hardware, "find", lambda: Hardware(4, "NVIDIA H100 80GB HBM3", 81559))
    config = load(RunConfig, [*RUN, "cluster.gpus_per_worker=2"])
    assert (config.cluster.workers, config.judge.device) == (2, "cuda:0")
    assert config.player.device == "cuda:1+0"
    assert config.player.memory_mib == 10194
    config = load(RunConfig, [*RUN, "cluster.gpus_per_worker=4", "player.device=cuda:1+2+3"])
    assert (config.cluster.workers, config.player.device) == (1, "cuda:1+2+3")


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (["player.device=gpu"], r"player\.device: found 'gpu', expected auto, cpu, cuda:N"),
        (
            ["cluster.gpus_per_worker=2", "player.device=cuda:0"],
            r"gpus_per_worker: found 2 GPUs .* do not use all",
        ),
        (["cluster.gpus_per_worker=0", "judge.device=cuda:0"], r"has 0 GPUs, expected auto$"),
        (["cluster.gpus_per_worker=1.5"], r"found 1\.5 .* at most 1, or a whole number"),
    ],
)
def test_devices_that_a_worker_has_not_are_refused(
    monkeypatch: pytest.MonkeyPatch, own: list[str], message: str
) -> None:
    monkeypatch.setattr(hardware, "find", lambda: Hardware(4, "NVIDIA H100 80GB HBM3", 81559))
    with pytest.raises(ConfigError, match=message):
        load(RunConfig, [*RUN, *own])


@pytest.mark.parametrize(
    ("listing", "visible", "expected"),
    [
        ("NVIDIA H100 80GB HBM3, 81559\\n", None, H100),
        ("A, 1000\\nA, 1000\\n", "1", Hardware(1, "A", 1000)),
        ("A, 1000\\n", "", None),
        ("", None, None),
    ],
)
def test_the_driver_says_what_is_here(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listing: str,
    visible: str | None,
    expected: Hardware | None,
) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\nprintf '{listing}'\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(hardware, "version", lambda name: "2.11.0+cu130")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert find() == expected
    monkeypatch.setattr(hardware, "version", lambda name: "2.13.0+cpu")
    assert find() is None
