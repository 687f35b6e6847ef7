"""The entry: ``python -m evo.run +experiment=scope_growth [key=value …]``, or ``resume=RUN``.

Everything is composed and validated before anything is written or loaded.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo.config.ggbench import GGBenchRunConfig
    from evo.config.measure import MeasureRunConfig
    from evo.config.ratings_paper import RatingsPaperRunConfig
    from evo.config.schema import RunConfig
    from evo.config.toy import ToyRunConfig
    from evo.runner import Experiment, RunPlan, Services

USAGE = """usage: python -m evo.run +experiment=scope_growth [key=value …]
       python -m evo.run +experiment=long_growth [key=value …]
       python -m evo.run +experiment=transfer_triplet [key=value …]
       python -m evo.run +experiment=curriculum curriculum.run=RUN_FOLDER [key=value …]
       python -m evo.run +experiment=held_out 'held_out.runs=[RUN_FOLDER,…]' [key=value …]
       python -m evo.run +experiment=toy_growth [toy.key=value …]
       python -m evo.run +experiment=measure measure=FOLDER 'players=[NAME,…]' [key=value …]
       python -m evo.run +experiment=universality 'universality.runs=[RUN,RUN,…]' [key=value …]
       python -m evo.run +experiment=gg_bench [ggbench.key=value …]
       python -m evo.run +experiment=ratings_paper [ratings_paper.key=value …]
       python -m evo.run resume=RUN_FOLDER [cluster.key=value …] [budget.key=value …]

experiments: scope_growth; long_growth: the same for two hours on two cores, from three games;
             transfer_triplet: what three games of the paper teach each other;
             curriculum: a player trained on the games of a growth together;
             held_out: do accepted games teach more outside their family than refused ones?
             toy_growth: scope growth on the paper's toy model, in seconds;
             measure: models on the games that python -m archive export --format xent wrote;
             universality: do measures of several growths rank a ladder of models alike;
             gg_bench: two-player games that are programs, opponents that learn by self-play;
             ratings_paper: what equilibrium ratings do to simulated models and tasks
useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_candidates=N  finetune.tokens=N  cluster.workers=N
             budget.tokens=N  budget.seconds=N  budget.dollars=N
All keys: docs/configuration.md.
flags:       --cfg job shows the composed configuration; --config-dir FOLDER holds groups of yours;
             --completion bash prints a script to be sourced (zsh, tcsh too); --version"""


def main(arguments: Sequence[str] | None = None, services: Services | None = None) -> int:
    """Run; returns the exit code, see :func:`evo.runner.run`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    from xgl.errors import missing_package
    from xgl.streams import prepare_streams
    from xgl.version import __version__

    if "--version" in arguments:
        print(f"xent-evo {__version__}")
        return 0
    prepare_streams()
    silence_libraries()
    try:
        if arguments[0].startswith("--completion"):
            return _print_completion(arguments[0].partition("=")[2] or "".join(arguments[1:]))
        from evo import runner

        return runner.run(arguments, experiments(), services or runner.Services())
    except ModuleNotFoundError as error:
        if (message := missing_package(error)) is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 2


def _print_completion(shell: str) -> int:
    from evo.config import compose, ggbench, measure, ratings_paper, schema, toy
    from evo.config.flags import completion
    from xgl.errors import ConfigError

    kinds = (
        schema.RunConfig,
        measure.MeasureRunConfig,
        toy.ToyRunConfig,
        ggbench.GGBenchRunConfig,
        ratings_paper.RatingsPaperRunConfig,
    )
    keys = dict.fromkeys(key for kind in kinds for key in compose.setting_names(kind))
    words = ["resume=", *(f"+experiment={name}" for name in experiments())]
    try:
        print(completion(shell, words + [f"{key}=" for key in keys]))
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def experiments() -> dict[str, Experiment[Any]]:
    """Every kind of run by name. The code that does one is loaded once its settings are valid."""
    from evo.config import compose, ggbench, measure, ratings_paper, toy
    from evo.runner import Experiment

    growth = Experiment(compose.load, compose.resume, _plan_scope_growth)
    return {
        "scope_growth": growth,
        "long_growth": growth,
        "curriculum": Experiment(compose.load, compose.resume, _plan_curriculum),
        "held_out": Experiment(compose.load, compose.resume, _plan_held_out),
        "transfer_triplet": Experiment(compose.load, compose.resume, _plan_transfer_triplet),
        "universality": Experiment(compose.load, compose.resume, _plan_universality),
        "toy_growth": Experiment(toy.load, toy.resume, _plan_toy),
        "measure": Experiment(measure.load, measure.resume, _plan_measure),
        "gg_bench": Experiment(ggbench.load, ggbench.resume, _plan_ggbench),
        "ratings_paper": Experiment(ratings_paper.load, ratings_paper.resume, _plan_ratings_paper),
    }


def _plan_scope_growth(config: RunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.model_run import plan_models
    from evo.experiments.scope_growth import ScopeGrowth

    return plan_models(config, services, resumed, ScopeGrowth)


def _plan_transfer_triplet(config: RunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.model_run import plan_models
    from evo.experiments.transfer_triplet import TransferTriplet

    return plan_models(config, services, resumed, TransferTriplet)


def _plan_curriculum(config: RunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.curriculum import plan_curriculum

    return plan_curriculum(config, services, resumed)


def _plan_held_out(config: RunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.held_out import plan_held_out

    return plan_held_out(config, services, resumed)


def _plan_universality(config: RunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.universality import plan_universality

    return plan_universality(config, services, resumed)


def _plan_toy(config: ToyRunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.experiments.toy.experiment import ToyPlan

    return ToyPlan(config, services.console)


def _plan_measure(config: MeasureRunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.measure.experiment import plan_measure

    return plan_measure(config, services.console)


def _plan_ggbench(config: GGBenchRunConfig, services: Services, resumed: bool) -> RunPlan:
    from evo.ggbench.experiment import plan_ggbench

    return plan_ggbench(config, services.console)


def _plan_ratings_paper(
    config: RatingsPaperRunConfig, services: Services, resumed: bool
) -> RunPlan:
    from evo.experiments.ratings_paper.experiment import RatingsPaperPlan

    return RatingsPaperPlan(config, services.console)


def silence_libraries() -> None:
    """Banners and advice of libraries do not belong on the display."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


if __name__ == "__main__":
    sys.exit(main())
