"""Settings, and every experiment by name: what it is, how it is typed, where its settings and its
plan are.

Help, checks of a name, tables of settings and the command derive from this table. It names settings
and plans by text (``module:name``) and loads nothing itself: ``--help`` is answered at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, NamedTuple


class ExperimentEntry(NamedTuple):
    """One experiment, chosen by ``+experiment=NAME``, for which ``conf/experiment/NAME.yaml`` is
    composed. ``settings``: place of the class of all its settings; ``planner``: place of a function
    of the settings, the services and whether the run is resumed, which returns a
    :data:`evo.runner.Plan`; ``usage``: what may follow its name on a command line;
    ``variant_of``: the experiment under whose name its runs are archived, where not its own."""

    name: str
    meaning: str
    settings: str
    planner: str
    usage: str = "[key=value …]"
    variant_of: str | None = None

    def load(self, words: Sequence[str]) -> Any:
        """The settings of a new run; raises :class:`~xgl.errors.ConfigError`."""
        return resolve_name("evo.config.compose:load")(resolve_name(self.settings), words)

    def resume(self, archived: Mapping[str, Any], words: Sequence[str]) -> Any:
        """The archived settings, changed where a resumed run may change; raises
        :class:`~xgl.errors.ConfigError`."""
        resume = resolve_name("evo.config.compose:resume")
        return resume(resolve_name(self.settings), archived, words)

    def plan(self, config: Any, services: Any, resumed: bool) -> Any:
        """Find everything that the run needs; raises errors of its user, one sentence each."""
        return resolve_name(self.planner)(config, services, resumed)


_ON_MODELS = "evo.config.schema:RunConfig"
_TOY = "evo.experiments.toy:ToyRunConfig"
_MEASURE = "evo.config.measure:MeasureRunConfig"
_GG_BENCH = "evo.config.measure:GGBenchRunConfig"
_RATINGS_PAPER = "evo.experiments.ratings_paper:RatingsPaperRunConfig"
ALL_SETTINGS = {
    _ON_MODELS: "Runs on language models",
    _TOY: "The toy model",
    _MEASURE: "Measuring a model",
    _GG_BENCH: "Games that are programs",
    _RATINGS_PAPER: "The ratings paper's experiments",
}
"""The kinds of settings: places of their classes, with the headings of their tables in
docs/reference/configuration.md."""

EXPERIMENTS = (
    ExperimentEntry(
        "scope_growth",
        "a search for games that teach, from one game (the scope: the known games)",
        _ON_MODELS,
        "evo.experiments.scope_growth:ScopeGrowth.planned",
    ),
    ExperimentEntry(
        "long_growth",
        "the same for two hours on two cores, from four games",
        _ON_MODELS,
        "evo.experiments.scope_growth:ScopeGrowth.planned",
        variant_of="scope_growth",
    ),
    ExperimentEntry(
        "transfer_triplet",
        "what three games of the paper teach each other",
        _ON_MODELS,
        "evo.experiments.transfer_triplet:TransferTriplet.planned",
    ),
    ExperimentEntry(
        "curriculum",
        "players trained on the fewest games that teach what a search kept",
        _ON_MODELS,
        "evo.experiments.curriculum:plan_curriculum",
        "curriculum.run=RUN_FOLDER [key=value …]",
    ),
    ExperimentEntry(
        "toy_growth",
        "the search on the paper's toy model, in seconds",
        _TOY,
        "evo.experiments.toy:plan_toy_growth",
        "[toy.key=value …]",
    ),
    ExperimentEntry(
        "measure",
        "models compared on games: named ones, or those of python -m archive export --format xent",
        _MEASURE,
        "evo.measure.experiment:plan_measure",
        "measure=FOLDER|[GAME,…] 'players=[NAME,…]' [key=value …]",
    ),
    ExperimentEntry(
        "gg_bench",
        "two-player games that are programs, opponents that learn by self-play",
        _GG_BENCH,
        "evo.ggbench.experiment:plan_ggbench",
        "[ggbench.key=value …]",
    ),
    ExperimentEntry(
        "ratings_paper",
        "what equilibrium ratings do to simulated models and tasks",
        _RATINGS_PAPER,
        "evo.experiments.ratings_paper:plan_ratings_paper",
        "[ratings_paper.key=value …]",
    ),
)
BY_NAME = {each.name: each for each in EXPERIMENTS}
"""What ``+experiment=`` may name."""
MODEL_RUNS = tuple(
    each.name for each in EXPERIMENTS if each.settings == _ON_MODELS and each.variant_of is None
)
"""Experiments under whose names runs on language models are archived."""
