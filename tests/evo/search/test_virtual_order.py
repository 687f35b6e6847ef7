"""One order of works, whatever the workers do."""

from collections.abc import Iterator

from support.open_world import Bench, Work

from evo.search.virtual_order import PATIENCE, Steps, VirtualOrder


def chain(name: str, length: int) -> Steps[Work, None]:
    """A process that needs one work after the other."""
    for number in range(length):
        yield [(name, number)]


def nothing() -> Iterator[None]:
    yield from ()


def course(*chains: tuple[str, int, int]) -> list[str]:
    """Which process's works were finished, of chains of (name, length, class of urgency)."""
    bench = Bench()
    order = VirtualOrder[Work](bench)
    for index, (name, length, urgency) in enumerate(chains):
        order.start(chain(name, length), (urgency, index))
    list(order.run(nothing))
    return [str(one[0][0]) for one in bench.course]


def test_equals_take_turns() -> None:
    assert course(("a", 3, 1), ("b", 3, 1)) == ["a", "b"] * 3


def test_the_more_urgent_one_goes_first() -> None:
    assert course(("learn", 1, 3), ("test", 2, 0)) == ["test", "test", "learn"]


def test_no_process_waits_for_ever() -> None:
    """A long test lets others' works be seen now and then: what these ask for next is there for
    workers that are free."""
    steps = course(("learn", 3, 1), ("test", 40, 0))
    waits = [index for index, name in enumerate(steps) if name == "learn"]
    gap = PATIENCE + 1
    assert waits == [gap, 2 * gap + 1, 3 * gap + 2]


def test_works_that_several_wait_for_are_as_urgent_as_the_most_urgent_of_them() -> None:
    bench = Bench()
    order = VirtualOrder[Work](bench)
    order.start(chain("play", 1), (3, 0))
    order.start(chain("other", 1), (2, 0))
    order.start(chain("play", 1), (0, 0))
    list(order.run(nothing))
    assert [one[0][0] for one in bench.course] == ["play", "other"]
