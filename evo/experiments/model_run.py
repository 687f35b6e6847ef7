"""Common parts of runs on language models: a player and a judge on workers, a ledger that
watches the budget, a display."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Self

from archive import Archive, Run
from archive.report.games import gather_games
from archive.report.summary import show
from archive.run import read_settings
from archive.schema import TaskId
from archive.statistics.replay import read_survivals
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.initial_scope import initial_tasks
from evo.jobs.evaluation import Task
from evo.record.budget import Cost, amount, exhausted_budgets, raised
from evo.record.collector import Collector
from evo.record.display import Display
from evo.record.ledger import Ledger
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, RunSession, Services, shown
from meta_sampler.base import MetaSampler
from xgl.errors import ConfigError
from xgl.judge.stories import check_source, texts_digest
from xgl.models.references import is_server
from xgl.models.resolve import resolve
from xgl.runtime.predicates import CHANCE_JUDGES, free_statements


@dataclass(frozen=True)
class ModelPlan:
    """What a run on language models begins with: valid settings, and all that they name, found.
    ``initial``: the games that it is about from the beginning."""

    config: RunConfig
    initial: list[Task]
    sampler: MetaSampler
    services: Services


class ModelSession(RunSession):
    """A run on language models at work."""

    def __init__(self, plan: ModelPlan, archive: Archive) -> None:
        """Raises :class:`ConfigError` if the initial games or a file of stories have changed, or a
        budget is spent."""
        _check_unchanged(archive, plan.config, plan.initial)
        self.plan, self.config, self.console = plan, plan.config, plan.services.console
        digest = texts_digest(self.config.judge.stories)
        facts = {"stories_digest": digest} if digest else {}
        self.identity = RunIdentity.of(self.config, self.config.name, archive, **facts)
        self.ledger = Ledger(archive, self.identity.run_id, self.config.budget)
        for name, limit in exhausted_budgets(self.config.budget, self.ledger.total_cost).items():
            raise ConfigError(
                f"budget.{name}: found {limit:g}, expected more than the run has spent already "
                f"({amount(self.ledger.total_cost)})"
            )
        if uses := _use_of_gpus(self.config):
            self.console.print(uses, highlight=False)
        if warning := _statements_by_chance(self.config, plan.initial):
            self.console.print(warning, highlight=False, soft_wrap=True)
        self.display = Display(self.console, len(self.ledger.finetunes))

    def __enter__(self) -> Self:
        settings = ModelHostSettings(self.config.judge, self.config.player, self.config.finetune)
        with ExitStack() as stack:
            executor = self.plan.services.executor(self.config.cluster, settings)
            stack.callback(executor.close)
            self.ledger.callbacks += self.plan.services.callbacks
            self.collector = Collector(
                self.config, self.ledger, executor, self.display, self.unshuffled()
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def unshuffled(self) -> frozenset[TaskId]:
        """Games that are trained on their true rewards even under ``finetune.shuffle``: none."""
        return frozenset()

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are spent, or else a meta-sampler's own, doubled."""
        if spent := exhausted_budgets(self.config.budget, self.ledger.total_cost):
            return raised(spent, self.ledger.total_cost)
        settings, prefix = self.config.meta_sampler.settings, "meta_sampler.settings.budget_"
        limits = {name: getattr(settings, f"budget_{name}", None) for name in ("tokens", "dollars")}
        cost = sum(map(Cost.of, self.ledger.proposals.values()), Cost())
        return raised({name: limit for name, limit in limits.items() if limit}, cost, prefix)

    def show(self, outcome: RunOutcome) -> None:
        """Print the accepted games so far, verdicts and costs."""
        if self.ledger.newest_scope:
            kept = Run(self.ledger.archive, self.ledger.run_id)
            games, survivals = gather_games(kept)[0], read_survivals(kept)
            show(games, survivals, self.console, shown(self.config.folder))
            self.console.print()

    def commands(self) -> Sequence[tuple[str, str]]:
        """Commands that read the archive as far as it has come: files of earlier sessions are
        replaced or left alone."""
        run, page = self.config.folder, Path(f"{self.config.folder}.html")
        ends = chain([""], map("-{}".format, count(2)))
        paths = (Path(f"{run}-games{end}") for end in ends)
        games = next(path for path in paths if not path.exists())
        lines = [("inspect", f"python -m archive inspect {shown(run)}")]
        if self.ledger.scopes:
            force = " --force" if page.exists() else ""
            report = f"python -m archive report {shown(run)} -o {shown(page)}{force}"
            export = f"python -m archive export {shown(run)} {shown(games)}"
            return [*lines, ("report", report), ("export", export)]
        if self.ledger.finetunes:
            lines.append(("matrix", f"python -m archive matrix {shown(run)}"))
        return lines


def plan_models(config: RunConfig, services: Services, resumed: bool) -> ModelPlan:
    """Find games, sampler, models and cluster; raises what each of them raises."""
    initial, judge = initial_tasks(config), config.judge
    if is_server(judge.model):
        from xgl.judge.loading import check_judge  # loads torch: only where a server is the judge

        check_judge(judge.model, judge.tokenizer, judge.key_variable)
    else:
        resolve(judge.model)
    check_source(judge.stories, "judge.stories")
    npc = None if config.player.npc == "base" else config.player.npc
    others = judge.second, *judge.others.values()
    for reference in filter(None, (config.player.model, npc, *others)):
        resolve(reference)
    sampler = services.sampler(config.meta_sampler.name, config.meta_sampler.settings)
    from evo.jobs.executor import check  # loads Ray: when everything else is right

    check(config.cluster)
    if not resumed:
        sampler.check()
    return ModelPlan(config, initial, sampler, services)


def _statements_by_chance(config: RunConfig, initial: Sequence[Task]) -> str:
    """A warning where games may need verdicts that the judge gives by chance; empty otherwise."""
    settings = config.meta_sampler.settings
    needed = settings.truths or any(free_statements(task.game.program) for task in initial)
    if not needed or config.judge.model not in CHANCE_JUDGES:
        return ""
    return (
        f"judge    {config.judge.model} decides statements by chance (python -m xgl judge "
        f"{config.judge.model}): games that ensure one are refused or won by luck"
    )


def _use_of_gpus(config: RunConfig) -> str:
    """One line on how a run uses GPUs; empty if it uses none."""
    cluster, player = config.cluster, config.player
    if not cluster.gpus_per_worker:
        return ""
    count = "workers" if cluster.workers is None else f"{cluster.workers} workers"
    share = f"{cluster.gpus_per_worker:g} of a GPU each"
    if cluster.gpus_per_worker > 1:
        places = f"judge {config.judge.device}, player {player.device}"
        share = f"{cluster.gpus_per_worker:g} GPUs each ({places})"
    return (
        f"GPUs     {count} with {share}, {player.dtype}, "
        f"{player.memory_mib} MiB a pass, {player.policies_per_pass} policies a pass"
    )


def _check_unchanged(archive: Archive, config: RunConfig, initial: Sequence[Task]) -> None:
    """The files that the settings name must still hold what the run began with: its games, and the
    texts of its maps."""
    archived_ids = {row["game_id"] for row in archive.rows("games", ["game_id"])}
    for task in initial:
        if archived_ids and task.game_id not in archived_ids:
            raise ConfigError(
                f"{task.origin} has changed since the run began, expected the game it began with"
            )
    began = [read_settings(row["config_json"]) for row in archive.rows("runs", ["config_json"])[:1]]
    if began and began[0].get("stories_digest", "") != texts_digest(config.judge.stories):
        raise ConfigError(
            f"judge.stories: {config.judge.stories} has changed since the run began, expected the "
            "texts it began with"
        )
