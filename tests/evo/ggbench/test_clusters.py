"""Kinds of games: what a chat model is asked, what its answers are worth, what comes out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from support.chat_server import ChatServer, Received, Sent, reply

from archive import Archive
from archive.statistics.programs import highest, similarity, winnow
from evo.ggbench.chat import PRICE, Clusterer, select
from evo.ggbench.game import packaged
from evo.run import main
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError

GAMES = list(packaged().values())
KINDS = {
    "Number game: a number is changed by turns.": ("Sevens",),
    "Card game: cards are taken or played.": ("Six Cards", "Duel"),
    "Game of cards: they are taken or played.": ("Six Cards", "Duel"),
    "Any game: two players take turns.": tuple(game.title for game in GAMES),
}


def model(request: Received) -> Sent:
    """One that knows the kinds above, and merges two of them."""
    prompt = request.last
    if "Propose" in prompt:
        return reply("\n".join(f"{n}. **{kind}**" for n, kind in enumerate(KINDS, start=1)))
    if "Leave out" in prompt:
        kinds = [kind for kind in KINDS if not kind.startswith("Game of cards")]
        return reply("\n".join(f"- {kind}" for kind in kinds))
    kind = next((each for each in KINDS if each in prompt), None)
    if kind is None:  # the question before a run
        return reply("Yes.")
    title = next(game.title for game in GAMES if game.rules.strip() in prompt)
    return reply("Yes." if any(title.startswith(each) for each in KINDS[kind]) else "no")


def sorter(server: ChatServer, folder: Path) -> Clusterer:
    return Clusterer(ChatSettings(model="m", base_url=server.url, retries=1), folder)


def test_kinds_are_proposed_merged_assigned_and_selected(tmp_path: Path) -> None:
    with ChatServer(model) as server:
        sorting = sorter(server, tmp_path).sort(GAMES, 2)
        request_count = len(server.received)
        assert sorter(server, tmp_path).sort(GAMES, 2).explanations == sorting.explanations
        assert len(server.received) == request_count == 1 + 1 + 4 * 3
    assert len(sorting.explanations) == 3
    assert sorting.belongs.sum(axis=0).tolist() == [1, 2, 4]
    assert [sorting.explanations[place][:4] for place in sorting.chosen] == ["Numb", "Card"]
    assert sorting.belongs[:, list(sorting.chosen)].sum() == 3


def test_an_unusable_answer_is_asked_for_again(tmp_path: Path) -> None:
    """The first one of each request is cut."""
    seen = set[str]()

    def cut_first(request: Received) -> Sent:
        is_first = request.last not in seen
        seen.add(request.last)
        return reply("Yes, 1. x: y", finish="length") if is_first else model(request)

    with ChatServer(cut_first) as server:
        sorting = sorter(server, tmp_path).sort(GAMES, 2)
    assert sorting.belongs.sum(axis=0).tolist() == [1, 2, 4]
    assert sorting.usage.requests == 2 * (1 + 1 + 4 * 3)


@pytest.mark.parametrize("answer", ["I cannot do that.", "", "<think>1. a kind: x</think>"])
def test_an_answer_without_a_list_ends_it_in_a_sentence(answer: str, tmp_path: Path) -> None:
    """Its answers are kept: only another model would find one."""
    another = pytest.raises(PlayerError, match="3 times; expected another one")
    with ChatServer(lambda _: reply(answer)) as server, another:
        sorter(server, tmp_path).sort(GAMES)


def test_a_run_ends_with_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kinds are rows, and their cost stands in one of them, however they are counted."""
    assert main(["+experiment=gg_bench", "ggbench.clusters=2"]) == 2
    assert "clusters: found 2 without ggbench.cluster_model" in capsys.readouterr().err
    with ChatServer(model) as server:
        kinds = [f"ggbench.cluster_model=chat:m@{server.url}", "ggbench.clusters=2"]
        place = [f"archive.root={tmp_path}", "name=run", "ggbench.workers=1"]
        code = main(["+experiment=gg_bench", *place, *kinds, "ggbench.players=[]"])
        output, cost = capsys.readouterr().out, 35 * (1 + 1 + 4 * 3)
        assert code == 0, output
        again = [f"resume={tmp_path / 'run'}", "ggbench.clusters=null"]
        assert main(again) == main([*again, f"budget.tokens={cost}"]) == 0
        assert f"budget.tokens={cost} is reached" in capsys.readouterr().out
    rows = Archive.open(tmp_path / "run").rows("gg_kinds")
    assert [len(row["programs"]) for row in rows] == [1, 2, 1, 4, 0]
    assert [row["tokens"] for row in rows] == [cost, None, None, None, None]
    assert "3 kinds that differ" in output
    assert "none of these" in output
    assert not Archive.open(tmp_path / "run").count("gg_agents"), "nobody plays"


HASHES = st.lists(st.integers(0, 50), max_size=60)
MATRICES = arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 6)))


def test_the_example_of_the_papers_on_winnowing() -> None:
    hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    assert winnow(hashes, 4) == [17, 17, 8, 39, 17]


@given(HASHES, HASHES, st.lists(st.integers(0, 50), min_size=5, max_size=12))
def test_a_shared_stretch_as_long_as_the_window_leaves_a_shared_fingerprint(
    left: list[int], right: list[int], stretch: list[int]
) -> None:
    fingerprint_sets = [set(winnow([*before, *stretch], 5)) for before in (left, right)]
    assert fingerprint_sets[0] & fingerprint_sets[1]


@given(HASHES, HASHES)
def test_similarity_is_symmetric_and_a_share(left: list[int], right: list[int]) -> None:
    assert similarity(left, right) == similarity(right, left)
    assert 0 <= similarity(left, right) <= 1
    assert similarity(left, left) == (1.0 if left else 0.0)


def test_the_games_that_ship_are_different_programs() -> None:
    most = max(highest([game.source for game in packaged().values()]))
    assert most < 0.836, "the most alike pair of the paper's 126"


def brute_force(belongs: np.ndarray, count: int | None) -> float | None:
    """The least cost of any choice: uncovered texts, and the price of clusters where free."""
    texts, explanations = belongs.shape
    costs = []
    for size in range(explanations + 1) if count is None else [count]:
        for columns in combinations(range(explanations), size):
            cover_counts = belongs[:, list(columns)].sum(axis=1)
            if (cover_counts <= 1).all():
                costs.append(texts - cover_counts.sum() + (PRICE * size if count is None else 0))
    return min(costs, default=None)


@settings(max_examples=30)
@given(MATRICES, st.one_of(st.none(), st.integers(1, 3)))
def test_no_choice_of_clusters_is_better(belongs: np.ndarray, count: int | None) -> None:
    best = brute_force(belongs, count)
    if best is None:
        with pytest.raises(ValueError, match="share no text"):
            select(belongs, count)
        return
    columns = list(select(belongs, count))
    covered = belongs[:, columns].sum(axis=1)
    price = PRICE * len(columns) if count is None else 0
    assert len(belongs) - covered.sum() + price == pytest.approx(best)
    assert all(covered <= 1)
