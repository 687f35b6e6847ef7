"""Proposals on their way into a run: rows, distances, remote samplers that fail, and resuming."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import Answer, ChatServer, Received, refusal, reply
from support.chat_turns import KEY, KEY_VARIABLE
from support.search import Killed, Listed, Nature, Search, code, of_limits

Capsys = pytest.CaptureFixture[str]

WORLD = of_limits(l7=Nature(covered=0.1), l6=Nature(covered=0.9), l5=Nature(own=0.0))


class Scripted:
    """Lists of games, or whatever it is told to answer."""

    def __init__(self) -> None:
        self.answer: Callable[[Received], Answer] = self.games

    def games(self, request: Received) -> Answer:
        if request.last.startswith("Answer with the word"):
            return reply("yes")
        limits = (7, 6, 5)
        return reply("\n\n".join(f"Say at most {n}.\n```\n{code(n)}```" for n in limits))

    def __call__(self, request: Received) -> Answer:
        return self.answer(request)


@pytest.fixture
def script() -> Scripted:
    return Scripted()


@pytest.fixture
def server(script: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    with ChatServer(script) as chat_server:
        yield chat_server


def asking(server: ChatServer, folder: Path, **settings: Any) -> list[str]:
    usual = {"base_url": server.url, "model": "m", "key_variable": KEY_VARIABLE, "retries": 0}
    usual |= {"cache": folder / "answers", "price_prompt": 1.0, "price_new": 10.0}
    overrides = [f"meta_sampler.settings.{k}={v}" for k, v in (usual | settings).items()]
    return ["meta_sampler=chat", "growth.list_size=3", "growth.max_candidates=6", *overrides]


def events(search: Search) -> list[str]:
    return [row["event"] for row in search.rows("runs")]


def test_rows_tell_where_a_game_came_from(
    search: Search, server: ChatServer, tmp_path: Path
) -> None:
    assert search.run(WORLD, *asking(server, tmp_path)) == 0
    rows = search.rows("proposals")
    first = [row for row in rows if row["round"] == 0 and row["generation"] == 1]
    assert [row["outcome"] for row in first[:3]] == ["candidate"] * 3
    for row in first[:3]:
        assert (row["sampler"], row["model"], row["operators"]) == ("chat", "m", ["invent"])
        assert row["intent"].startswith("Say at most ")
        assert row["text"] in row["raw_text"] + "\n"
    assert first[0]["dollars"] > 0  # of the whole answer
    requests = server.received[1:]
    assert sum(row["tokens"] for row in rows) == 35 * len(requests)
    later = [request.last for request in requests if "Not accepted before" in request.last]
    assert later
    assert "not playable" in later[-1]
    assert KEY not in str([search.rows(table) for table in ("runs", "proposals")])


def test_what_a_proposal_cost_stands_once_for_all_of_its_roles(
    search: Search, server: ChatServer, script: Scripted, tmp_path: Path
) -> None:
    two = f"{code(7)}reveal(alice, s)\nelicit(alice, x, 7)\nreward(alice, xed(x | s))\n"
    script.answer = lambda request: reply(f"Both say what fits.\n```\n{two}```")
    assert search.run(WORLD, *asking(server, tmp_path)) == 0
    rows = search.rows("proposals")
    assert [row["role"] for row in rows[:2]] == ["black", "alice"]
    assert sum(row["tokens"] for row in rows) == 35 * (len(server.received) - 1)
    assert rows[1]["dollars"] == rows[1]["seconds"] == 0 < rows[0]["dollars"]


def test_a_server_that_goes_down_stops_the_run_and_resuming_pays_nothing_twice(
    search: Search, server: ChatServer, script: Scripted, tmp_path: Path, capsys: Capsys
) -> None:
    def down_after_one(request: Received) -> Answer:
        request_count = sum("Answer with 1 games" in each.last for each in server.received)
        return refusal(500) if request_count > 1 else script.games(request)

    script.answer = down_after_one
    one_by_one = asking(server, tmp_path, games=1, concurrency=1)
    assert search.run(WORLD, *one_by_one) == 1
    assert "no answer to 1 request" in capsys.readouterr().err
    assert events(search) == ["created", "interrupted"]
    assert search.rows("proposals") == []
    script.answer = script.games
    before = Counter(str(request.body["seed"]) for request in server.received)
    assert search.run(WORLD, resume=True) == 0
    after = Counter(str(request.body["seed"]) for request in server.received)
    first_seed = server.received[1].body["seed"]
    assert before[str(first_seed)] == after[str(first_seed)] == 1
    assert events(search)[-1] == "finished"


def test_a_round_of_the_archive_is_not_asked_for_again(
    search: Search, server: ChatServer, tmp_path: Path
) -> None:
    overrides = asking(server, tmp_path, cache="null")
    assert search.run(WORLD, *overrides, name="whole") == 0
    whole, whole_count = search.tables("whole"), len(server.received)
    with pytest.raises(Killed):
        search.run(WORLD, *overrides, patience=10)
    assert search.rows("proposals")
    paid_count = len(server.received) - whole_count
    assert search.run(WORLD, resume=True) == 0
    assert len(server.received) - whole_count == whole_count
    assert paid_count < whole_count
    for name, rows in search.tables("run").items():
        assert _without_timings(rows) == _without_timings(whole[name])


def _without_timings(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("seconds", "raw_text")} for row in rows]


def test_a_budget_ends_the_run_at_a_commit(
    search: Search, server: ChatServer, tmp_path: Path, capsys: Capsys
) -> None:
    assert search.run(WORLD, *asking(server, tmp_path, budget_tokens=30)) == 0
    output = capsys.readouterr()
    assert "the budget of 30 tokens is spent" in output.out + output.err
    assert len(server.received) == 2
    assert "finished" not in events(search)
    assert len(search.rows("proposals")) >= 3
    assert len({row["round"] for row in search.rows("proposals")}) == 1
    assert search.run(WORLD, resume=True) == 0
    assert len(server.received) == 2
    assert "budget_tokens=60" in output.out + output.err, "above the 35 that it spent"
    override = "meta_sampler.settings.budget_tokens=900"
    assert search.go_on(WORLD, override) == 0
    assert events(search)[-1] == "finished"
    model = "meta_sampler.settings.model=other"
    assert search.go_on(WORLD, model) == 2


def test_a_list_prefers_what_no_game_was_paid_for_before(search: Search) -> None:
    """Of twice as many as it needs; a resumed run finds the list again."""
    texts = [code(3), code(4), code(5), code(6).replace("xed", "xent"), code(7), code(9)]
    how = ("growth.novelty=true", "growth.list_size=3", "growth.max_candidates=3")
    assert search.run_by_steps(WORLD, *how, patience=4, sampler=Listed(texts)) > 1
    rows = search.rows("proposals", "killed")
    taken = [row["text"] for row in rows if row["outcome"] == "candidate"]
    assert taken == [texts[0], texts[1], texts[3]]
    assert len(rows) == len(texts)
    judged = {row["game_id"] for row in search.rows("decisions", "killed")}
    assert judged == {row["game_id"] for row in rows if row["outcome"] == "candidate"}


def test_a_game_alike_in_normal_form_is_met_once(search: Search) -> None:
    renamed = re.sub(r"\bs\b", "p", code(7))
    assert search.run(WORLD, "growth.max_candidates=2", sampler=Listed([code(7), renamed])) == 0
    outcomes = [row["outcome"] for row in search.rows("proposals") if row["text"] == renamed]
    assert set(outcomes) == {"seen"}
