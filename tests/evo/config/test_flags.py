"""Words of a command line that are no settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.config.compose import as_yaml, load
from evo.config.schema import RunConfig
from evo.config.words import read_flags
from xgl.errors import ConfigError

RUN = "+experiment=scope_growth"


def test_settings_are_passed_on() -> None:
    words = (RUN, "seed=3", "~finetune", "++x.y=1", "growth.initial_scope=[a,b]")
    assert read_flags(words, []) == (words, False)


@pytest.mark.parametrize("flag", [["--cfg", "job"], ["--cfg=job"]])
def test_the_configuration_can_be_shown(flag: list[str]) -> None:
    assert read_flags([RUN, *flag, "seed=3"], []) == ((RUN, "seed=3"), True)


@pytest.mark.parametrize("flag", [["--config-dir", "{}"], ["--config-dir={}"]])
def test_a_folder_of_groups_is_searched(flag: list[str], tmp_path: Path) -> None:
    (tmp_path / "finetune").mkdir()
    (tmp_path / "finetune" / "long.yaml").write_text("defaults: [default]\ntokens: 12345\n")
    words = [RUN, *(each.format(tmp_path) for each in flag), "finetune=long"]
    config = load(RunConfig, read_flags(words, [])[0])
    assert config.finetune.tokens == 12345
    assert "\n  tokens: 12345\n" in as_yaml(config)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scope-growth"], r"scope-growth: expected key=value.* did you mean \+experiment=scope_g"),
        (["anything"], "anything: expected key=value, --cfg job"),
        (["--seed", "3"], "--seed: expected key=value"),
        (["--cfg", "hydra"], "--cfg: expected key=value, --cfg job"),
        (["--cfg"], "--cfg: expected key=value"),
        (["--config-dir", "none"], "--config-dir: expected key=value.*--config-dir FOLDER"),
        (["--multirun", "seed=1,2"], "--multirun: expected"),
        (["hydra.run.dir=x"], "hydra.run.dir=x: expected"),
    ],
)
def test_what_is_no_setting_is_answered_in_one_sentence(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        read_flags([RUN, *words], ["scope_growth", "toy_growth"])
    assert "\n" not in str(error.value)
