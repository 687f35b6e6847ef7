"""Which requests one job does together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import given, strategies as st

from archive import Purpose
from archive.schema import BASE_POLICY
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.record import requests as ask

MakeTask = Callable[..., Task]

SEEDS = tuple(evaluation_seeds("selection", 0, 16))


def of_policy(name: str, task: Task, first: int, count: int) -> ask.PlayRequest:
    seeds = tuple(evaluation_seeds("selection", 0, count, first))
    return ask.PlayRequest(name, task, Purpose.SELECTION, seeds)


def test_fine_tunes_of_any_games_are_one_job_where_a_pass_has_several_policies(
    make_task: MakeTask,
) -> None:
    """But not those that are watched, and in the order in which they are asked for; so what is left
    of them after a job is committed is grouped as it was before."""
    task, other = make_task(), make_task(code=make_task().game.code.replace("8", "7"))
    a, b, c, d, e = (
        ask.TrainingRequest(name, on, 0, 7, "{}", share=share)
        for name, on, share in zip("abcde", (task, other) * 3, (1.0, 0.5) * 3, strict=False)
    )
    watched = ask.WatchedTrainingRequest("w", task, 0, 7, "{}")
    rounds = ask.RoundsRequest(BASE_POLICY, task, SEEDS[:4], 3)
    plays = of_policy("p", task, 4, 12)
    requests = [plays, rounds, a, b, watched, c, d, e]
    assert ask.jobs_of(requests, 2) == [(rounds,), (a, b), (watched,), (c, d), (e,), (plays,)]
    assert ask.jobs_of([c, d, e], 2) == [(c, d), (e,)]
    assert ask.jobs_of(requests, 1) == [(each,) for each in (*requests[1:], plays)]


def test_where_a_model_writes_the_maps_a_job_is_of_the_same_seeds(make_task: MakeTask) -> None:
    plays = [of_policy(name, make_task(), at, 16) for name, at in (("x", 16), ("y", 0), ("y", 16))]
    x, y_first, y = plays
    assert ask.jobs_of(plays, 4) == [(x, y_first, y)]
    assert ask.jobs_of(plays, 4, alike=True) == [(x, y), (y_first,)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["base", "a", "b", "c", "d", "script:nothing", "script:x"]),
            st.booleans(),
            st.sampled_from([(0, 4), (4, 12), (16, 40), (56, 64), (120, 100)]),
        ),
        max_size=20,
        unique=True,
    ),
    st.integers(1, 4),
)
def test_every_request_stands_in_one_job_of_bounded_size(
    make_task: MakeTask, keys: list[tuple[str, bool, tuple[int, int]]], most: int
) -> None:
    """And a policy's earlier plays in an earlier job, or in the same."""
    tasks = make_task(), make_task(code=make_task().game.code.replace("8", "7"))
    requests: list[ask.Request] = [of_policy(name, tasks[n], *at) for name, n, at in keys]
    groups = ask.jobs_of(requests, most)
    together = [each for group in groups for each in group]
    assert len(together) == len(requests)
    assert set(together) == set(requests)
    firsts = [requests.index(group[0]) for group in groups]
    assert firsts == sorted(firsts)
    for group in groups:
        plays = [each for each in group if isinstance(each, ask.PlayRequest)]
        assert len({(each.task.id, each.key.scripted) for each in plays}) == 1
        policies = Counter(each.policy_id for each in plays)
        if plays[0].key.scripted or most == 1:
            assert len({each.seeds for each in plays}) == 1
        if not plays[0].key.scripted:
            assert len(policies) <= most
            for name, count in policies.items():
                length = sum(len(each.seeds) for each in plays if each.policy_id == name)
                assert length <= ask.BLOCK or count == 1
