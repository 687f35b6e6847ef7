"""Games that a chat model writes: answers of every shape, and what is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import hostile
from support.chat_server import ChatServer, Received, Sent, refusal, reply

from archive import Archive
from archive.__main__ import main as archive_main
from evo.ggbench.chat import Author, program
from evo.run import main
from xgl.chat.settings import ChatSettings

RULES = "# Sticks\n\nTake one or two of the sticks. Who takes the last one wins."
PROGRAM = hostile.GOOD
MOVES = "Move 0 takes one, move 1 takes two."


def stage(request: Received) -> str:
    """Which of the texts a request asks for."""
    if "Invent a game" in request.last:
        return "rules"
    return "moves" if "And this is its program" in request.last else "program"


def author_model(**answers: Sent):
    """A model that writes a good game, but for the answers that are given."""
    good = {
        "rules": reply(RULES),
        "program": reply(f"```python\n{PROGRAM}```"),
        "moves": reply(MOVES),
    }
    return lambda request: {**good, **answers}[stage(request)]


def settings(url: str, **changes: object) -> ChatSettings:
    return ChatSettings(model="m", base_url=url, retries=1, **changes)


def write_games(server: ChatServer, folder: Path, count: int = 1, **changes: object):
    return Author(settings(server.url, **changes), folder).write(range(count))


def test_a_game_is_three_requests_of_one_message_each(tmp_path: Path) -> None:
    with ChatServer(author_model()) as server:
        [(game, failure, usage)] = write_games(server, tmp_path)
        conversations = [request.body["messages"] for request in server.received]
    assert (failure, game.title, usage.tokens) == (None, "Sticks", 3 * 35)
    assert (game.rules, game.moves) == (RULES, MOVES)
    assert game.source.strip() == PROGRAM.strip()
    assert [len(messages) for messages in conversations] == [1, 1, 1]
    assert RULES in conversations[1][0]["content"]
    assert PROGRAM.strip() in conversations[2][0]["content"]


@pytest.mark.parametrize(
    ("answers", "failure"),
    [
        ({"rules": reply("  \n")}, "rules: the answer is empty"),
        ({"rules": reply(RULES, finish="length")}, "rules: the answer was cut at"),
        ({"rules": reply("x" * 200_001)}, "rules: the answer is longer than"),
        ({"program": reply("```python\nclass A: pass")}, "program: it holds no whole block"),
        (
            {"moves": refusal(400, "too long", code="context_length_exceeded")},
            "moves: the request is too long",
        ),
    ],
)
def test_an_answer_without_its_text_is_a_row_with_its_stage(
    answers: dict[str, Sent], failure: str, tmp_path: Path
) -> None:
    with ChatServer(author_model(**answers)) as server:
        [(_, found, _)] = write_games(server, tmp_path)
    assert found
    assert found.startswith(failure)


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{PROGRAM}```",
        f"Here it is.\n\n```py\n{PROGRAM}```\nEnjoy.",
        f"```Python title=env.py\n{PROGRAM}```\n```bash\npip install gymnasium\n```",
        PROGRAM,
        f"It is this one:\n```gymnasium\n{PROGRAM}```\n```json\n{{}}\n```",
    ],
)
def test_a_program_is_found_however_it_is_wrapped(answer: str) -> None:
    assert program(answer).replace("\r", "").strip() == PROGRAM.strip()


def unlike(request: Received) -> Sent:
    """Every second game is one that does not run; the others are all the same one."""
    if stage(request) == "rules":
        unlike.count += 1
        return reply(f"# Game {unlike.count % 2}")
    if "Game 1" in request.last and stage(request) == "program":
        return reply("```python\nimport os\nclass CustomEnv: pass\n```")
    return author_model()(request)


@pytest.mark.long
def test_a_run_writes_and_filters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unlike.count = 0
    with ChatServer(unlike) as server:
        overrides = (f"ggbench.author=chat:m@{server.url}", "ggbench.count=3", "name=written")
        small = ("ggbench.players=[]", "ggbench.workers=1", "ggbench.chat.concurrency=1")
        assert main(["+experiment=gg_bench", f"archive.root={tmp_path}", *overrides, *small]) == 0
    assert len(server.received) == 1 + 9  # it is asked once before the run
    with Archive.open(tmp_path / "written" / "archive") as archive:
        games = sorted(archive.rows("gg_games"), key=lambda row: row["place"])
        refusals = [row for row in archive.rows("gg_filters") if not row["passed"]]
    assert [bool(row["failed"]) for row in games] == [False, False, True]
    assert "its three texts are those of" in games[2]["failed"]
    assert [row["tokens"] for row in games] == [105] * 3
    assert {row["stage"] for row in refusals} >= {"execution"}
    assert archive_main(["verify", str(tmp_path / "written")]) == 0
    assert archive_main(["inspect", str(tmp_path / "written")]) == 0
    assert "no text: known" in capsys.readouterr().out
