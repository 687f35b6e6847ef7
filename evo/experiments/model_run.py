"""Common parts of runs on language models: a player and a judge on workers, a ledger that
watches the budget, a display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
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
from evo.record.budget import Cost, amount, check_prices, exhausted_budgets, raised
from evo.record.collector import Collector
from evo.record.display import Display
from evo.record.ledger import Ledger
from evo.record.run_folder import RunIdentity
from evo.runner import Plan, RunOutcome, RunSession, Services, reading_commands, shown
from meta_sampler.base import MetaSampler
from meta_sampler.settings import PortfolioSettings
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError
from xgl.judge.stories import check_source, texts_digest
from xgl.models.references import is_server
from xgl.models.resolve import resolve


@dataclass(frozen=True)
class ModelPlan:
    """What a run on language models begins with: valid settings, and all that they name, found.
    ``initial``: the games that it is about from the beginning."""

    config: RunConfig
    initial: list[Task]
    sampler: MetaSampler
    services: Services


class ModelSession(RunSession):
    """A run on language models at work; ``unshuffled``: see :class:`Collector`."""

    unshuffled: frozenset[TaskId] = frozenset()

    def __init__(self, plan: ModelPlan, archive: Archive) -> None:
        """Raises :class:`ConfigError` if the initial games or a file of stories have changed, or a
        budget is spent."""
        _check_unchanged(archive, plan.config, plan.initial)
        self.plan, self.config, self.console = plan, plan.config, plan.services.console
        digest = texts_digest(self.config.judge.stories)
        facts = {"stories_digest": digest} if digest else {}
        self.identity = RunIdentity.of(self.config, self.config.name, archive, **facts)
        self.ledger = Ledger(archive, self.identity.run_id, self.config.budget)
        spent = exhausted_budgets(self.config.budget, self.ledger.total_cost)
        for name, limit in {} if self.config.judge.second else spent.items():  # it costs none
            raise ConfigError(
                f"budget.{name}: found {limit:g}, expected more than the run has spent already "
                f"({amount(self.ledger.total_cost)})"
            )
        if share := self.config.cluster.gpus_per_worker:
            player = self.config.player
            passes = f"{player.memory_mib} MiB and {player.policies_per_pass} policies a pass"
            self.console.print(f"GPUs     {share:g} for a worker, {player.dtype}, {passes}")
        trained = len(self.ledger.finetunes) + len(self.ledger.curricula)
        self.display = Display(self.console, trained)

    @classmethod
    def planned(cls, config: RunConfig, services: Services, resumed: bool) -> Plan:
        """Find the initial games and models; raises what :func:`plan_models` raises."""
        return "", partial(cls, plan_models(config, services, resumed))

    def __enter__(self) -> Self:
        settings = ModelHostSettings(self.config.judge, self.config.player, self.config.finetune)
        executor = self.plan.services.executor(self.config.cluster, settings)
        self.ledger.callbacks += self.plan.services.callbacks
        run = self.config, self.ledger, executor, self.display
        self.collector = Collector(*run, self.unshuffled)
        return self

    def __exit__(self, *_: object) -> None:
        self.collector.executor.close()

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are spent, or else a meta-sampler's own, doubled."""
        if spent := exhausted_budgets(self.config.budget, self.ledger.total_cost):
            return raised(spent, self.ledger.total_cost)
        settings, prefix = self.config.meta_sampler.settings, "meta_sampler.settings.budget_"
        limits = {name: getattr(settings, f"budget_{name}", None) for name in ("tokens", "dollars")}
        usage = self.plan.sampler.spent()  # with answers that no commit holds
        own = {name: limit for name, limit in limits.items() if limit is not None}
        return raised(own, Cost(usage.tokens, 0.0, usage.dollars), prefix)

    def show(self, outcome: RunOutcome) -> None:
        """Print the accepted games so far, verdicts and costs."""
        if self.ledger.newest_scope:
            kept = Run(self.ledger.archive, self.ledger.run_id)
            games, survivals = gather_games(kept)[0], read_survivals(kept)
            show(games, survivals, self.console, shown(self.config.folder))
            self.console.print()

    def commands(self) -> Sequence[tuple[str, str]]:
        """Commands that read the archive as far as it has come; games are exported once."""
        run, games = self.config.folder, Path(f"{self.config.folder}-games")
        commands = reading_commands(run, has_report=bool(self.ledger.scopes))
        if self.ledger.scopes and not games.exists():
            commands["export"] = f"python -m archive export {shown(run)} {shown(games)}"
        elif self.ledger.finetunes and not self.ledger.scopes:
            commands["matrix"] = f"python -m archive matrix {shown(run)}"
        return [*commands.items()]


def plan_models(
    config: RunConfig, services: Services, resumed: bool, initial: list[Task] | None = None
) -> ModelPlan:
    """Find the initial games, unless they are given, sampler, models and cluster; raises what each
    of them raises."""
    initial = initial_tasks(config) if initial is None else initial
    judge, settings = config.judge, config.meta_sampler.settings
    members = settings.members().values() if isinstance(settings, PortfolioSettings) else [settings]
    paid = [each for each in members if isinstance(each, ChatSettings)]
    check_prices(config.budget, paid, "meta_sampler.settings.price_prompt=… and .price_new=…")
    if is_server(judge.model):
        from xgl.judge.loading import check_judge  # loads torch: only where a server is the judge

        check_judge(judge.model, judge.tokenizer, judge.key_variable)
    check_source(judge.stories, "judge.stories")
    own = None if is_server(judge.model) else judge.model
    npc = None if config.player.npc == "base" else config.player.npc
    models = {"judge.model": own, "player.model": config.player.model, "player.npc": npc}
    models |= {f"judge.others.{name}": each for name, each in judge.others.items()}
    for key, reference in (models | {"judge.second": judge.second}).items():
        if reference:
            resolve(reference, key)
    sampler = services.sampler(config.meta_sampler.name, settings)
    from evo.jobs.executor import check  # loads Ray: when everything else is right

    check(config.cluster)
    if not resumed:
        sampler.check()
    return ModelPlan(config, initial, sampler, services)


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
