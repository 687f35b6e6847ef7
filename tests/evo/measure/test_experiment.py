"""Measuring from the command line: embedded players, a chat endpoint, resuming, budgets, errors."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer, Received, Sent, move, refusal, reply
from support.example import EXAMPLE, GAMES as GAMES_OF_EXAMPLE
from support.exported import GAMES, write_measure
from support.printed import execute, printed_commands
from support.refusal import error_of

import evo.run
from archive import Archive, RunEvent
from archive.statistics.rounds import arms, narms, series, thresholds
from evo.jobs.model_host import ModelHost
from evo.measure import results
from xgl.chat.client import QUESTION
from xgl.files import remember
from xgl.models.resolve import EMBEDDED
from xgl.players.local import LocalPolicy

Capsys = pytest.CaptureFixture[str]

ONE = {"first": GAMES["first"]}
SAID = ("dog", "cat", "bird")
FAST = ["measure.rounds=3", "measure.m=2"]
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """run(*arguments): the command in a folder of its own; returns the exit code."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> int:
        return evo.run.main(list(arguments))

    return command


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A chat model whose move tells how many earlier rounds it sees."""

    def script(request: Received) -> Sent:
        return move(SAID[request.last.count("What you saw")])

    with ChatServer(script) as chat_server:
        yield chat_server


def tables(folder: str) -> dict[str, list[dict[str, Any]]]:
    names = "runs", "rounds", "measures", "maps", "ratings", "ceilings"
    return {name: Archive.open(f"runs/{folder}").rows(name) for name in names}


def plays(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Everything but the time that it took."""
    return [tuple(v for k, v in row.items() if k not in ("seconds", "run_id")) for row in rows]


def test_two_players_side_by_side(
    run: Run, server: ChatServer, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evo.measure.experiment.SILENCE", 0.0)
    write_measure(Path("OUT"))
    chat = f"chat:m@{server.url}"
    assert run(
        "+experiment=measure", "measure=OUT", f"players=[embedded,{chat}]", *FAST
    ) == 0  # fmt: skip
    run_tables = tables("measure-OUT")
    text = capsys.readouterr().out
    assert [e["event"] for e in run_tables["runs"]] == [RunEvent.CREATED, RunEvent.FINISHED]
    assert len(run_tables["measures"]) == 4
    assert {row["policy_id"] for row in run_tables["rounds"]} == {"embedded", chat}
    # 3 maps, 3 rounds and the control's 2, 2 games, 2 players
    assert len(run_tables["rounds"]) == 3 * 5 * 2 * 2
    assert "Models, rated by win" in text
    ratings = {row["policy_id"]: row["rating"] for row in run_tables["ratings"] if row["policy_id"]}
    assert max(ratings.values()) == pytest.approx(0, abs=1e-6)
    assert set(ratings) == {"embedded", chat}
    assert len({row["game_id"] for row in run_tables["ratings"]} - {None}) == 2
    for row in run_tables["measures"]:
        mine = ("game_id", "role")
        rows = [r for r in run_tables["rounds"] if all(r[key] == row[key] for key in mine)]
        base = series([r for r in rows if r["policy_id"] == "embedded"])[0]
        own = series([r for r in rows if r["policy_id"] == row["policy_id"]])[0]
        levels = thresholds(base, 2)
        assert levels is not None
        assert (row["b"], row["theta"], row["k_m"]) == (levels.b, levels.theta, levels.k_m)
        assert row["narms"] == pytest.approx(narms(arms(own), levels, row["at_round"]))
        assert row["narms_low"] <= row["narms_high"]
        assert row["base"] == "embedded"
        mine_alone = [r for r in rows if r["policy_id"] == row["policy_id"]]
        assert row["forfeits"] == sum(r["outcome"] == "forfeit" for r in mine_alone)
        for name in ("failed_ensures", "format_failures", "cut_moves", "cut_tokens"):
            assert row[name] == sum(r[name] for r in mine_alone)
    of_base = [row["narms"] for row in run_tables["measures"] if row["policy_id"] == "embedded"]
    assert of_base == pytest.approx([2.0, 2.0]), "the base has m at k_m"
    assert f"{chat}: 2 games\n" in text
    assert all(f"] embedded first: round {number} of 3\n" in text for number in (1, 2, 3))
    assert "The Xent Measure" in text
    figure = (Path("runs") / "measure-OUT" / "measure.svg").read_text()
    assert figure.count("<polyline") + figure.count("<path") >= 8


BAD = ("zzz qqq", "@@ ## %%", "never never never never")


def scripted(*said: str) -> Callable[[Received], Sent]:
    """Answers that depend on the view alone."""
    return lambda request: reply(said[len(request.last) % len(said)])


def test_levels_of_a_game_in_which_others_move_are_those_of_the_same_others(run: Run) -> None:
    games = ONE | {"duo": "elicit(alice, t, 4)\n" + GAMES["first"].replace("(t,", "(x,")}
    levels = {"b": 1.0, "theta": 0.5, "m": 2, "rounds": 3, "maps": 3, "k_m": 3, "floor": 0.5}
    for n, base in enumerate(("x", "embedded")):
        of_game = {"first": levels | {"policy": "x"}, "duo": levels | {"policy": base}}
        write_measure(Path(f"OUT{n}"), games, thresholds=of_game)
        assert run("+experiment=measure", f"measure=OUT{n}", "players=[embedded@0]", *FAST) == 0
        played = {row["policy_id"] for row in tables(f"measure-OUT{n}")["rounds"]}
        assert ("embedded" in played) == (n == 0), "the base, where another one was"


def test_a_model_that_never_answers_ranks_below_one_that_answers_badly(run: Run) -> None:
    levels = {"b": 1.0, "theta": 0.5, "m": 2, "rounds": 3, "maps": 3, "k_m": 3, "floor": 0.5}
    write_measure(Path("OUT"), thresholds={name: levels | {"policy": "x"} for name in GAMES})
    scripts = {"silent": scripted("I pass."), "bad": scripted(*(f"<move>{m}</move>" for m in BAD))}
    with ChatServer(scripts["silent"]) as silent, ChatServer(scripts["bad"]) as bad:
        names = {"silent": f"chat:m@{silent.url}", "bad": f"chat:m@{bad.url}"}
        players = ",".join(names.values())
        assert run("+experiment=measure", "measure=OUT", f"players=[{players}]", *FAST) == 0
    found = tables("measure-OUT")
    for game_id in {row["game_id"] for row in found["rounds"]}:
        rows = [row for row in found["rounds"] if row["game_id"] == game_id]
        failed = {row["score"] for row in rows if row["format_failures"]}
        assert len(failed) == 1
        assert max(failed) <= min(row["score"] for row in rows)
        narms = {row["policy_id"]: row["narms"] for row in found["measures"]}
        assert narms[names["silent"]] <= narms[names["bad"]]


@pytest.mark.long
def test_a_run_goes_on_where_a_budget_or_an_endpoint_ended_it(run: Run, capsys: Capsys) -> None:
    write_measure(Path("OUT"))
    up = [True]

    answered = Counter[str]()

    def script(request: Received) -> Sent:
        answered[json.dumps(request.body)] += up[0] and request.last != QUESTION[-1]["content"]
        return move("the dog") if up[0] else refusal(401, "who are you")

    with ChatServer(script) as server:
        chat = f"chat:m@{server.url}"
        overrides = ["+experiment=measure", "measure=OUT", f"players=[embedded,{chat}]", *FAST]
        assert run(*overrides, "name=whole") == 0
        whole = len(server.received)
        answered.clear()
        # 35 tokens an answer: the budget ends in the second round of the chat model's first game
        token_count = sum(
            r["tokens"] for r in tables("whole")["rounds"] if r["policy_id"] == "embedded"
        )
        capsys.readouterr()
        assert run(*overrides, "name=parts", f"budget.tokens={token_count + 200}") == 0
        output = capsys.readouterr()
        assert re.search(r"^ended    .* is spent", output.out, re.MULTILINE)
        assert [e["event"] for e in tables("parts")["runs"]] == ["created", "out_of_budget"]
        assert {r["policy_id"] for r in tables("parts")["rounds"]} == {"embedded"}
        up[0] = False
        assert run("resume=runs/parts", "budget.tokens=null") == 1
        assert "refused with 401" in capsys.readouterr().err
        up[0], printed = True, output.out
        while commands := [each for each in printed_commands(printed) if "resume=" in each]:
            assert execute(commands[0]) == 0
            printed = capsys.readouterr().out
        for table in ("rounds", "measures"):
            assert plays(tables("parts")[table]) == plays(tables("whole")[table])
        assert max(answered.values()) == 1, "an answer is paid for once"
        server.received.clear()
        assert run("resume=runs/parts") == 0
        assert not server.received, f"nothing of {whole} requests is asked again"


def test_games_without_levels_cost_what_their_tokens_do_whoever_goes_on(run: Run) -> None:
    write_measure(Path("OUT"))
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    with ChatServer(lambda request: reply("<move>the dog</move>", usage)) as server:
        first, other = (f"chat:{name}@{server.url}" for name in "mn")
        words = ["measure.rounds=1", "measure.chat.prices={m: [1, 100], n: [1, 100]}"]
        words += ["measure.base=embedded", f"players=[{first}]", "budget.dollars=0.0125"]
        assert run("+experiment=measure", "measure=OUT", *words) == 0
        found = tables("measure-OUT")
        assert not found["measures"]
        assert found["runs"][-1]["event"] == RunEvent.FINISHED, "2 games, 3 maps, 0.002 each"
        again = ["resume=runs/measure-OUT", f"players=[{other}]", "budget.dollars=0.0115"]
        assert run(*again) == 0
    assert tables("measure-OUT")["runs"][-1]["event"] == RunEvent.OUT_OF_BUDGET
    assert {row["policy_id"] for row in tables("measure-OUT")["rounds"]} == {"embedded", first}


def test_no_game_begins_with_another_s_caches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a resumed run, which begins without any, would sample other moves."""
    kept: list[tuple[int, int]] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def watch(owner: Any, *arguments: Any) -> Any:
            [policy] = [each for each in arguments if isinstance(each, LocalPolicy)]
            assert policy.caches is not None
            before = len(policy.caches.kept)
            result = function(owner, *arguments)
            kept.append((before, len(policy.caches.kept)))
            return result

        return watch

    monkeypatch.setattr(ModelHost, "repeat", watched(ModelHost.repeat))
    monkeypatch.setattr(results, "solution_rows", watched(results.solution_rows))
    write_measure(Path("OUT"), {"first": GAMES["first"], "second": GAMES["second"]})
    calls = ["measure.ceiling_calls=16", "measure.maps=2"]
    assert run("+experiment=measure", "measure=OUT", "player=embedded", *FAST, *calls) == 0
    assert len(kept) == 4
    assert all(before == 0 < after for before, after in kept)


def test_an_adapter_of_a_run_is_measured(run: Run) -> None:
    write_measure(Path("OUT"), ONE)
    trained = f"adapter:{EXAMPLE}:{GAMES_OF_EXAMPLE[0][:8]}"
    names = f"players=[embedded,'{trained}']"
    assert run("+experiment=measure", "measure=OUT", names, *FAST) == 0
    moves: dict[str, list[list[str]]] = {}
    for row in tables("measure-OUT")["rounds"]:
        if row["round"] == 1:
            moves.setdefault(row["policy_id"], []).append(row["moves"])
    assert len(moves["embedded"]) == len(moves[trained]) == 3
    assert moves["embedded"] != moves[trained], "the adapter moves the policy"


@pytest.mark.long
def test_ceilings_are_searched_remembered_and_held_against_scores(run: Run, capsys: Capsys) -> None:
    folder = write_measure(Path("OUT"), ONE)
    manifest = json.loads((folder / "measure.json").read_text())
    best_known = {"score": 40.0, "found_by": "abcd", "moves": ["known before"]}
    manifest["members"][0]["maps"][0]["best_known"] = best_known
    (folder / "measure.json").write_text(json.dumps(manifest))
    overrides = ["+experiment=measure", "measure=OUT", *FAST]
    assert run(*overrides) == 0
    assert len(tables("measure-OUT")["ceilings"]) == 1, "nothing is searched unasked"
    assert run("resume=runs/measure-OUT", "measure.ceiling_calls=30") == 0
    output = capsys.readouterr().out
    assert "ceilings: two solvers on each map, at most 30 judge calls each" in output
    assert "Share of the way" in output
    rows = tables("measure-OUT")["ceilings"]
    solvers = [row["solver"] for row in rows if row["budget"]]
    assert sorted(solvers) == sorted(["samples", "beam"] * 3)
    for row in rows[1:]:
        assert row["curve"] == sorted(row["curve"])
        assert row["curve"][-1] == row["score"]
        assert row["curve_calls"][-1] <= row["calls"] <= row["budget"] == 30
        assert len(row["moves"]) == 1
    first_rounds = [
        r for r in tables("measure-OUT")["rounds"] if not r["control"] and r["round"] == 1
    ]
    best = {row["map_seed"]: row["score"] for row in sorted(rows, key=lambda row: row["score"])}
    assert all(row["score"] < best[row["map_seed"]] for row in first_rounds), "easily beaten"
    assert best[1] == 40.0
    assert run("resume=runs/measure-OUT", "measure.ceiling_calls=20") == 0
    assert tables("measure-OUT")["ceilings"] == rows, "searched already, with more calls"


WRONG = (
    (["player=embedded"], "measure.folder: found none"),
    (["measure=NONE"], "NONE/measure.json cannot be read"),
    (["measure=OUT", "player=chat:gpt-4o-mini"], "OPENAI_API_KEY is not set"),
    (["measure=OUT", "player=vllm:m@http://localhost:8000/v1"], "a judge, expected embed"),
    (["measure=OUT", "measure.base=chat:m@http://h/v1"], "a model behind an endpoint"),
    (["measure=OUT", "measure.judge=vllm:m@http://h/v1"], "measure.base: found none and a judge"),
    (["measure=OUT", "measure.maps=500"], "measure.maps: found 500, expected at most the 3 of"),
    (["measure=OUT", "measure.m=9"], "measure.m: found 9, expected 4 as in the folder, or a base"),
    (["measure=OUT", "players=[]"], "expected a list with at least one value"),
    (["measure=OUT", "measure.games=[rival]"], "measure.games: found games and a folder"),
    (
        [
            "measure=OUT",
            "player=chat:m@http://localhost:1/v1",
            "measure.chat.prices={other:[1,1]}",
            "budget.dollars=1",
        ],
        "no price of m, expected measure.chat.prices",
    ),
)


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[words[-1] for words, _ in WRONG])
def test_errors_are_one_sentence(
    run: Run, arguments: list[str], message: str, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    levels = {"b": 1.0, "theta": 0.5, "m": 4, "rounds": 4, "maps": 3, "k_m": 3, "floor": -5.0}
    write_measure(Path("OUT"), ONE, thresholds={"first": levels | {"policy": "x"}})
    assert message in error_of(capsys, evo.run.main, "+experiment=measure", *arguments)
    assert not Path("runs").exists()


@pytest.mark.parametrize("named", ["players=[embedded,chat:m@{}]", "measure.judge=vllm:m@{}"])
def test_an_endpoint_that_cannot_be_used_is_found_before_anything_is_played(
    run: Run, named: str, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelHost, "repeat", None)
    write_measure(Path("OUT"))
    with ChatServer(lambda request: refusal(401, "who are you")) as server:
        server.models = refusal(401, "who are you")
        words = ["measure=OUT", "measure.base=embedded", named.format(server.url), *FAST]
        error = error_of(capsys, evo.run.main, "+experiment=measure", *words)
        assert server.url in error
    assert "refused with 401 (who are you)" in error
    assert not Path("runs").exists()


@pytest.fixture
def another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on nothing is known of what this user wrote."""
    return lambda: monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))


def added(error: str) -> list[str]:
    """What an error says to add."""
    return shlex.split(error.partition(" add ")[2].partition(" (")[0])


def test_a_strangers_run_asks_nobody_until_the_user_trusts_it(
    run: Run, another_machine: Callable[[], None], capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "sk-mine")
    write_measure(Path("OUT"), ONE)
    with ChatServer(lambda request: move("the dog")) as server:
        players = f"players=[embedded,chat:m@{server.url}]"
        key = "measure.chat.key_variable=SECRET_OF_MINE"
        overrides = [players, key, "budget.tokens=1", *FAST]
        assert run("+experiment=measure", "measure=OUT", *overrides) == 0
        Path("runs").rename("moved")
        assert run("resume=moved/measure-OUT", "budget.tokens=2") == 0, "one's own, moved"
        server.received.clear()
        capsys.readouterr()
        another_machine()
        assert run("resume=moved/measure-OUT", "budget.tokens=null") == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert added(error) == ["trusted=true"]
        assert server.received == []
        assert run("resume=moved/measure-OUT", "budget.tokens=null", "trusted=True") == 0
        assert {each.headers["authorization"] for each in server.received} == {"Bearer sk-mine"}
        assert run("resume=moved/measure-OUT") == 0, "once trusted, it is one's own"


def test_a_strangers_run_on_a_strangers_measure_goes_on_with_what_the_errors_say(
    run: Run, another_machine: Callable[[], None], capsys: Capsys
) -> None:
    other = shutil.copytree(EMBEDDED, Path("a model").absolute())
    judge = {"model": str(other), "folder": None, "dtype": "float32", "sha256": None}
    remember((write_measure(Path("OUT"), ONE, judge=judge) / "measure.json").read_bytes())
    words = [f"players=[embedded,{other}]", "budget.tokens=1", *FAST]
    assert run("+experiment=measure", "measure=OUT", *words) == 0
    another_machine()
    resume = ["resume=runs/measure-OUT", "budget.tokens=null"]
    for _ in range(2):
        capsys.readouterr()
        if code := run(*resume):
            error = capsys.readouterr().err
            assert (code, error.count("\n")) == (2, 1)
            resume += added(error)
    assert f"measure.judge={other}" in resume
    assert run(*resume, "measure.judge=embedded") == 2
    assert "measure.judge: found 'embedded', expected" in capsys.readouterr().err
    assert run(*resume) == 0
    assert run("resume=runs/measure-OUT") == 0, "once trusted, it is one's own"


def test_a_resumed_run_finds_its_measure_where_it_lies_now(run: Run, capsys: Capsys) -> None:
    write_measure(Path("OUT"), ONE)
    write_measure(Path("other"))
    assert run("+experiment=measure", "measure=OUT", "budget.tokens=1", *FAST) == 0
    Path("OUT").rename("moved")
    assert run("resume=runs/measure-OUT", "budget.tokens=null") == 2
    assert "measure.folder: OUT/measure.json cannot be read" in capsys.readouterr().err
    assert run("resume=runs/measure-OUT", "budget.tokens=null", "measure=other") == 2
    assert "other has changed since the run began" in capsys.readouterr().err
    assert run("resume=runs/measure-OUT", "budget.tokens=null", "measure=moved") == 0
    assert run("resume=runs/measure-OUT") == 0
