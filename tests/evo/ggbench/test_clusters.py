"""Kinds of games: what a chat model is asked, what its answers are worth, what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.chat_server import ChatServer, Received, Sent, reply

from evo.ggbench.clusters import Clusterer
from evo.ggbench.game import packaged_game, packaged_names
from xgl.chat.settings import Budget, ChatSettings
from xgl.errors import PlayerError

GAMES = [packaged_game(name) for name in packaged_names()]
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
    kind = next(each for each in KINDS if each in prompt)
    title = next(game.title for game in GAMES if game.rules.strip() in prompt)
    return reply("Yes." if any(title.startswith(each) for each in KINDS[kind]) else "no")


def sorter(server: ChatServer, folder: Path, tokens: int | None = None) -> Clusterer:
    budget = Budget(tokens=tokens)
    return Clusterer(ChatSettings("m", server.url, retries=1, first_backoff=0.0), folder, budget)


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
    assert (sorting.unclear, sorting.usage.requests, sorting.usage.tokens) == (
        0,
        request_count,
        35 * request_count,
    )


def test_where_their_number_is_free_few_clusters_cover_most(tmp_path: Path) -> None:
    with ChatServer(model) as server:
        sorting = sorter(server, tmp_path).sort(GAMES)
    assert [sorting.explanations[place][:3] for place in sorting.chosen] == ["Any"]


@pytest.mark.parametrize("answer", ["I cannot do that.", "", "<think>1. a kind: x</think>"])
def test_an_answer_without_a_list_ends_it_in_a_sentence(answer: str, tmp_path: Path) -> None:
    with ChatServer(lambda _: reply(answer)) as server, pytest.raises(PlayerError, match="m: "):
        sorter(server, tmp_path).sort(GAMES)
