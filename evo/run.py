"""The entry: ``python -m evo.run +experiment=scope_growth [key=value …]``, or ``resume=RUN``.

Everything is composed and validated before anything is written or loaded.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

from evo import runner
from evo.experiments.model_run import ModelExperiment
from evo.experiments.scope_growth import ScopeGrowth
from evo.experiments.transfer_triplet import TransferTriplet
from evo.measure.experiment import MeasureExperiment
from evo.toy.experiment import ToyExperiment
from xgl.streams import prepare_streams

USAGE = """usage: python -m evo.run +experiment=scope_growth [key=value …]
       python -m evo.run +experiment=transfer_triplet [key=value …]
       python -m evo.run +experiment=toy_growth [toy.key=value …]
       python -m evo.run +experiment=measure measure=FOLDER 'players=[NAME,…]' [key=value …]
       python -m evo.run resume=RUN_FOLDER [cluster.key=value …] [budget.key=value …]

experiments: scope_growth; transfer_triplet: what three games of the paper teach each other;
             toy_growth: scope growth on the paper's toy model, in seconds;
             measure: models on the games that python -m archive export --format xent wrote
useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_candidates=N  finetune.tokens=N  cluster.workers=N
             budget.tokens=N  budget.seconds=N  budget.dollars=N
All keys: docs/configuration.md."""

EXPERIMENTS: dict[str, runner.Experiment] = {
    "scope_growth": ModelExperiment(ScopeGrowth),
    "transfer_triplet": ModelExperiment(TransferTriplet),
    "toy_growth": ToyExperiment(),
    "measure": MeasureExperiment(),
}


def main(arguments: Sequence[str] | None = None, services: runner.Services | None = None) -> int:
    """Run; returns the exit code, see :func:`evo.runner.run`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    prepare_streams()
    _silence_libraries()
    return runner.run(arguments, EXPERIMENTS, services or runner.Services())


def _silence_libraries() -> None:
    """Banners and advice of libraries do not belong on the display."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


if __name__ == "__main__":
    sys.exit(main())
