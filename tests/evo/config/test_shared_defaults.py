"""A library that may not import the configuration has defaults of its own; they are those of a
run."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import MISSING, asdict, fields
from typing import Any

from archive.cli import COMMANDS, resamples
from archive.ratings.paper import PathSettings
from archive.statistics.ratings import RatingQuestion
from evo.config.measure import CeilingConfig, MeasureConfig
from evo.config.models import JudgeConfig
from evo.experiments.ratings_paper import PathConfig
from xgl.judge.engine import EngineSettings
from xgl.solvers.solvers import Solvers


def library_defaults(type_: Any, *names: str) -> dict[str, Any]:
    """The values that the fields of a dataclass have if nothing is said."""
    defaults = {each.name: each.default for each in fields(type_) if each.default is not MISSING}
    return {name: defaults[name] for name in names} if names else defaults


def option_default(command: str, option: str) -> str:
    """The value of an option of ``python -m archive COMMAND``, as text."""
    [subcommand] = [each for each in COMMANDS if each.run.__name__ == command]
    [argument] = [each for each in subcommand.arguments if option in each.names]
    return str(argument.options["default"])


def test_an_engine_is_bounded_as_in_a_run() -> None:
    config = JudgeConfig()
    assert EngineSettings() == EngineSettings(
        batch_tokens=config.batch_tokens,
        memory_bytes=config.memory_mib << 20,
        score_cache_bytes=config.remembered_mib << 20,
        prefix_cache_bytes=config.prefix_cache_mib << 20,
    )


def test_solvers_search_as_in_a_run() -> None:
    config = asdict(CeilingConfig())
    del config["calls"]
    assert library_defaults(Solvers, *config) == config


def test_a_path_of_improvement_is_that_of_a_run() -> None:
    assert library_defaults(PathSettings) == asdict(PathConfig())


def test_ratings_ask_what_a_run_asks() -> None:
    config, question = MeasureConfig(folder="OUT"), RatingQuestion()
    assert (question.confidence, question.resamples) == (config.confidence, config.rating_resamples)
    assert option_default("ratings", "--confidence") == str(question.confidence)
    assert resamples(Namespace(resamples=None, table=None), 3, 3) == config.rating_resamples
