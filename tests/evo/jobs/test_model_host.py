"""Defaults of the engine and the policy; stories of a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from evo.config.models import JudgeConfig, PlayerConfig
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import ScriptedEvaluation
from evo.jobs.model_host import ModelHost, _engine_settings
from xgl.judge.engine import EngineSettings
from xgl.players.local import MEMORY_BYTES
from xgl.runtime.requests import StoryRequest, StorySource


def test_the_judge_of_a_run_has_the_engines_defaults() -> None:
    assert _engine_settings(JudgeConfig()) == EngineSettings()


def test_the_player_of_a_run_has_the_policys_default_of_memory() -> None:
    assert PlayerConfig().memory_mib << 20 == MEMORY_BYTES


class CountedStories:
    """The stories of ``source``, and how often each was requested."""

    def __init__(self, source: StorySource) -> None:
        self.source = source
        self.counts: Counter[tuple[int, StoryRequest]] = Counter()

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        self.counts.update(requests)
        return self.source.story_texts(requests)


def test_a_story_is_requested_once_in_a_job_however_many_plays_need_it(
    make_model_host: Callable[..., ModelHost], make_task: Callable[..., Task]
) -> None:
    host, task = make_model_host(), make_task()
    stories = CountedStories(host.stories.source)
    host.use_stories(stories)
    seeds = tuple(evaluation_seeds("selection", 0, 3))
    scripts = ("first_words", "content_words")
    first = host.do(ScriptedEvaluation(task, scripts, seeds))
    assert set(stories.counts.values()) == {1}
    assert len(first.map_texts) == len(stories.counts) >= len(seeds)
    again = host.do(ScriptedEvaluation(task, scripts, seeds))
    assert set(stories.counts.values()) == {2}
    assert again.map_texts == first.map_texts
