"""The table of experiments: each has a file, settings and a plan, and each file an entry."""

from __future__ import annotations

from importlib.resources import files

import pytest
from omegaconf import OmegaConf

from evo.config.registry import EXPERIMENTS, MODEL_RUNS, NAMES, ExperimentEntry, find
from xgl.errors import ConfigError

FILES = files("conf").joinpath("experiment")


def test_every_file_has_an_entry_and_every_entry_a_file() -> None:
    names = [each.name.removesuffix(".yaml") for each in FILES.iterdir()]
    assert sorted(NAMES) == sorted(name for name in names if not name.startswith("_"))


@pytest.mark.parametrize("entry", EXPERIMENTS, ids=NAMES)
def test_an_entry_names_settings_and_a_plan_that_exist(entry: ExperimentEntry) -> None:
    assert callable(find(entry.plan))
    composed = OmegaConf.create(FILES.joinpath(f"{entry.name}.yaml").read_text(encoding="utf-8"))
    assert composed.experiment == (entry.variant_of or entry.name)


@pytest.mark.parametrize("entry", EXPERIMENTS, ids=NAMES)
def test_settings_accept_their_experiments_alone(entry: ExperimentEntry) -> None:
    kind = find(entry.settings)
    with pytest.raises(ConfigError, match="experiment: found 'other'") as error:
        kind(experiment="other")
    assert (entry.variant_of or entry.name) in str(error.value)
    assert (entry.name in MODEL_RUNS) == (kind.__name__ == "RunConfig" and not entry.variant_of)
