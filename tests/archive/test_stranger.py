"""A stranger's archive names a judge: no command asks it until the user names it too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.chat_server import ChatServer, move
from support.measured import Given, build

from archive.__main__ import COMMANDS, main
from archive.export.folder import FORMATS
from xgl.files import remember
from xgl.models import smollm2

GAME = Given("assign(s=story())\nelicit(x, 4)\nreward(xed(s | x))")
USES_A_JUDGE = {("export", each) for each in ("xent", "inspect", "dataset", "verifiers")}
OTHERS = {("export", each) for each in FORMATS} - USES_A_JUDGE
OTHERS |= {(each.__name__,) for each in COMMANDS} - {("export",)}


def arguments(command: tuple[str, ...], archive: Path, out: Path) -> list[str]:
    name, *more = command
    if name == "report":
        return [name, str(archive), "-o", str(out / "report.html")]
    if name == "export":
        return [name, str(archive), str(out / "games"), "--format", *more]
    game = [GAME.game.game_id]
    words = {"show": game, "components": ["--alpha", "0.1"]}
    return [name, str(archive), *words.get(name, [])]


@pytest.fixture
def strangers_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))

    def make(judge: str) -> Path:
        config = {"judge": {"model": judge}, "player": {"model": judge}, "seed": 7}
        return build(tmp_path / "archive", [GAME], config=config)

    return make


@pytest.mark.parametrize("command", sorted(USES_A_JUDGE | OTHERS), ids=" ".join)
def test_no_command_asks_a_strangers_judge(
    command: tuple[str, ...],
    strangers_archive: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(lambda request: move("a dog")) as server:
        judge = f"vllm:m@{server.url}"
        words = arguments(command, strangers_archive(judge), tmp_path)
        code, error = main(words), capsys.readouterr().err
        assert server.received == []
        if command in USES_A_JUDGE:
            assert (code, error.count("\n")) == (2, 1)
            assert f"to use it, add --judge {judge}" in error
            assert {each.name for each in tmp_path.iterdir()} == {"archive"}, "nothing is written"


@pytest.mark.parametrize("command", sorted(USES_A_JUDGE), ids=" ".join)
def test_the_hub_is_asked_for_ones_own_judge_only(
    command: tuple[str, ...],
    strangers_archive: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(smollm2, "hub_snapshot", asked.append)  # the hub has nothing
    words = arguments(command, strangers_archive("org/model"), tmp_path)
    assert main(words) == 2
    assert main([*words, "--judge", "org/other"]) == 2
    assert asked == []
    named = main([*words, "--judge", "org/model"])
    remember('{"judge": {"model": "org/model"}, "player": {"model": "org/model"}, "seed": 7}')
    own = main(words)
    writes_only = command[-1] in ("dataset", "verifiers")
    assert (named, own) == ((0, 2) if writes_only else (2, 2)), "the folder is there by now"
    assert asked == ([] if writes_only else ["org/model"] * 2)
