"""Words of a command line that are no settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.config.compose import as_yaml, load
from evo.config.flags import Words, completion, read_flags
from evo.config.schema import RunConfig
from xgl.errors import ConfigError

RUN = "+experiment=scope_growth"


def test_settings_are_passed_on() -> None:
    words = (RUN, "seed=3", "~finetune", "++x.y=1", "growth.initial_scope=[a,b]")
    assert read_flags(words, []) == Words(words)


@pytest.mark.parametrize("flag", [["--cfg", "job"], ["--cfg=job"], ["-c", "job", "--resolve"]])
def test_the_configuration_can_be_shown(flag: list[str]) -> None:
    assert read_flags([RUN, *flag, "seed=3"], []) == Words((RUN, "seed=3"), show=True)


@pytest.mark.parametrize("flag", [["--config-dir", "{}"], ["--config-dir={}"], ["-cd", "{}"]])
def test_a_folder_of_groups_is_searched(flag: list[str], tmp_path: Path) -> None:
    (tmp_path / "finetune").mkdir()
    (tmp_path / "finetune" / "long.yaml").write_text("defaults: [default]\ntokens: 12345\n")
    words = [RUN, *(each.format(tmp_path) for each in flag), "finetune=long"]
    config = load(RunConfig, read_flags(words, []).overrides)
    assert config.finetune.tokens == 12345
    assert "\n  tokens: 12345\n" in as_yaml(config)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scope-growth"], r"scope-growth: expected key=value, did you mean \+experiment=scope_g"),
        (["anything"], "anything: expected key=value, --cfg job"),
        (["help"], "help: expected --help"),
        (["resume", "runs/a"], "resume: expected resume=RUN_FOLDER"),
        (["--seed", "3"], "--seed: unknown flag.*; a setting is written seed=3"),
        (["--budget.tokens=3"], "a setting is written budget.tokens=3"),
        (["--resume", "runs/a"], "a setting is written resume=runs/a"),
        (["--cfg", "hydra"], "--cfg: found 'hydra', expected job"),
        (["--cfg"], "--cfg: found '', expected job"),
        (["--config-dir", "none"], "--config-dir: found 'none', expected a folder"),
        (["--multirun", "seed=1,2"], "a command is one run, .*for seed in"),
        (["-m"], "a command is one run"),
        (["-cn", "run"], r"--config-name: expected \+experiment=NAME"),
        (["-sc", "install=bash"], "--shell-completion: expected --completion bash"),
        (["--hydra-help"], "expected --help"),
        (["hydra.run.dir=x"], "hydra.run.dir=x: Hydra only composes"),
    ],
)
def test_what_is_no_setting_is_answered_in_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        read_flags([RUN, *words], ["scope_growth", "toy_growth"])
    assert "\n" not in str(error.value)


def test_a_shell_completes_words() -> None:
    script = completion("bash", ["growth.alpha1=", "+experiment=measure"])
    assert "growth.alpha1=" in script
    assert "complete -o" in script
    with pytest.raises(ConfigError, match="--completion: found 'cmd', expected bash"):
        completion("cmd", [])
