"""One order of works, whatever the workers do."""

from collections.abc import Iterator

from support.open_world import Bench, Work

from evo.growth.virtual_order import Steps, VirtualOrder


def chain(name: str, length: int) -> Steps[Work, None]:
    """A process that needs one work after the other."""
    for number in range(length):
        yield [(name, number)]


def nothing() -> Iterator[None]:
    yield from ()


def course(workers: int, *chains: tuple[str, int, int]) -> list[str]:
    """Which process's works were finished, of chains of (name, length, class of urgency); works
    named ``learn`` take ten times as long as others."""
    bench = Bench()
    order = VirtualOrder[Work](bench, workers)
    for index, (name, length, urgency) in enumerate(chains):
        order.start(chain(name, length), (urgency, index))
    list(order.run(nothing))
    return [str(one[0][0]) for one in bench.course]


def test_one_at_a_time_the_most_urgent_goes_first() -> None:
    assert course(1, ("learn", 1, 3), ("test", 2, 0)) == ["test", "test", "learn"]
    assert course(1, ("a", 2, 1), ("b", 2, 1)) == ["a", "a", "b", "b"]


def test_two_at_a_time_a_long_work_is_begun_beside_short_ones() -> None:
    """So that nobody waits for it when its turn comes; of two that end at once that comes first
    which was begun first."""
    steps = course(2, ("test", 25, 0), ("learn", 2, 3))
    assert [index for index, name in enumerate(steps) if name == "learn"] == [9, 20]


def test_what_takes_equally_long_is_finished_in_the_order_in_which_it_was_begun() -> None:
    assert course(2, ("a", 3, 1), ("b", 3, 1)) == ["a", "b"] * 3
    assert course(3, ("a", 1, 2), ("b", 1, 1), ("c", 1, 0)) == ["c", "b", "a"]


def test_more_workers_than_there_are_works_changes_nothing() -> None:
    chains = (("a", 2, 1), ("learn", 2, 3), ("b", 4, 2))
    assert course(3, *chains) == course(30, *chains)


def test_works_that_several_wait_for_are_as_urgent_as_the_most_urgent_of_them() -> None:
    bench = Bench()
    order = VirtualOrder[Work](bench)
    order.start(chain("play", 1), (3, 0))
    order.start(chain("other", 1), (2, 0))
    order.start(chain("play", 1), (0, 0))
    list(order.run(nothing))
    assert [one[0][0] for one in bench.course] == ["play", "other"]
