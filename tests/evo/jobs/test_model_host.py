"""Defaults of the engine and the policy are those of the configuration."""

from __future__ import annotations

from evo.config.models import JudgeConfig, PlayerConfig
from evo.jobs.model_host import _engine_settings
from xgl.judge.engine import EngineSettings
from xgl.players.local import MEMORY_BYTES


def test_the_judge_of_a_run_has_the_engines_defaults() -> None:
    assert _engine_settings(JudgeConfig()) == EngineSettings()


def test_the_player_of_a_run_has_the_policys_default_of_memory() -> None:
    assert PlayerConfig().memory_mib << 20 == MEMORY_BYTES
