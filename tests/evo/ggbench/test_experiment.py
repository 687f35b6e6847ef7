"""``+experiment=gg_bench`` from filters to scores: a small run, its budget, its resumption,
and what self-play learned in it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from io import StringIO
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from support import hostile
from support.printed import execute, printed_commands
from support.purse_game import PURSE, PURSE_FOLDER

from archive import Archive
from archive.__main__ import main as archive_main
from archive.schema import PairPurpose
from archive.statistics.programs import NAMES
from evo.config.measure import GGBenchConfig, OpponentConfig, TrainConfig
from evo.ggbench import experiment, selfplay, selfplay as play
from evo.ggbench.box import Box, BoxLimits, GameFaultError
from evo.run import main
from evo.runner import Services

Capsys = pytest.CaptureFixture[str]

SMALL = (
    "ggbench.train.steps=8192",
    "ggbench.plays=2",
    "ggbench.opponent.simulations=10",
    "ggbench.opponent.ladder=[1000]",
    "ggbench.opponent.confirmation=10",
    "ggbench.workers=1",
)
RANDOM = {"kind": "random"}
TIMES = ("seconds", "event", "at", "run_id")


def run(folder: Path, *overrides: str, small: Sequence[str] = SMALL) -> tuple[int, str]:
    output = StringIO()
    experiment = [] if any(o.startswith("resume=") for o in overrides) else ["+experiment=gg_bench"]
    roots = [f"archive.root={folder}", *small] if experiment else []
    code = main(
        [*experiment, *roots, *overrides], Services(console=Console(file=output, width=200))
    )
    return code, output.getvalue()


def test_a_budget_in_dollars_needs_the_price_of_every_model(tmp_path: Path, capsys: Capsys) -> None:
    author = "ggbench.author=chat:m@http://localhost:1/v1"
    prices = ["ggbench.chat.prices={other:[1,1]}", "budget.dollars=1"]
    assert run(tmp_path, author, "ggbench.players=[]", *prices)[0] == 2
    assert "no price of m, expected ggbench.chat.prices" in capsys.readouterr().err


def science(archive: Path) -> dict[str, list[dict[str, object]]]:
    """All rows of the family's tables, without their times and the run's id."""
    with Archive.open(archive) as reader:
        return {
            name: [{k: v for k, v in row.items() if k not in TIMES} for row in reader.rows(name)]
            for name in NAMES
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a game that ends undecided."""
    folder = tmp_path_factory.mktemp("gg_bench")
    (folder / "drawn").mkdir()
    source = hostile.GOOD.replace("int(not self.left), not", "0, not")
    for name, text in (("rules.md", "# Drawn"), ("env.py", source), ("moves.md", "m")):
        (folder / "drawn" / name).write_text(text)
    return folder


def games_and_players(folder: Path) -> tuple[str, str]:
    games = f"ggbench.games=[{PURSE_FOLDER},{folder / 'drawn'}]"
    return games, "ggbench.players=[random,mcts@5,embedded]"


@pytest.fixture(scope="module")
def finished_run(folder: Path) -> tuple[Path, str]:
    code, output = run(folder, "name=whole", *games_and_players(folder))
    assert code == 0, output
    return folder / "whole", output


def test_a_run_goes_from_filters_to_scores(finished_run: tuple[Path, str]) -> None:
    rows = science(finished_run[0] / "archive")
    stages = [(row["stage"], row["passed"]) for row in rows["gg_filters"]]
    assert ("undecided", False) in stages
    assert ("opponent", True) in stages
    assert [row["quarter"] for row in rows["gg_agents"]] == [1, 2, 3, 4]
    assert {row["player"] for row in rows["gg_plays"]} == {"random", "mcts@5", "embedded"}
    assert len(rows["gg_plays"]) == 6
    assert "every player has met every opponent" in finished_run[1]
    assert (commands := printed_commands(finished_run[1]))
    assert {execute(command) for command in commands} == {0}


def test_the_archives_commands_know_it_and_escape_what_games_say(
    finished_run: tuple[Path, str], capsys: Capsys
) -> None:
    for command, words in (("inspect", "Win rates"), ("verify", "Everything fits")):
        assert archive_main([command, str(finished_run[0])]) == 0
        assert words in capsys.readouterr().out
    report = finished_run[0].with_suffix(".report.html")
    assert archive_main(["report", str(finished_run[0]), "-o", str(report)]) == 0
    page = report.read_text()
    assert "&#34;&#34;&#34;The Shared Purse: hand in a token" in page
    assert "<script" not in page
    assert page.count("<table>") == page.count('<div class="scroll"') > 10
    assert "<th>" not in page, "every heading has a scope"
    for title in ("Funnel", "Texts before and after filtering", "Authors", "Win rates"):
        assert f"<h2>{title}</h2>" in page
        assert title in finished_run[1]


@pytest.mark.long
def test_a_budget_ends_a_run_and_resuming_gives_what_one_run_gives(
    finished_run: tuple[Path, str], folder: Path
) -> None:
    code, output = run(folder, "name=parts", *games_and_players(folder), "budget.seconds=0.001")
    assert code == 0
    assert "budget.seconds=0.001 is reached" in output
    resume = f"resume={folder / 'parts'}"
    while "is reached" in output:
        command = next(each for each in printed_commands(output) if resume in each)
        code, output = run(folder, *shlex.split(command)[3:])
        assert code == 0, output
    whole, parts = science(finished_run[0] / "archive"), science(folder / "parts" / "archive")
    assert parts == whole
    assert run(folder, resume)[0] == 0
    assert science(folder / "parts" / "archive") == parts


def test_seconds_of_a_stage_and_of_its_parts_stand_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are rows, and a budget counts all rows."""
    parts = [play.Checkpoint(n, n, b"", 100.0) for n in (1, 2)]
    pair = play.Pairing("4", 5, "1", PairPurpose.SELECTION, 2, 1, 0, True, 50.0)
    monkeypatch.setattr(experiment, "Box", lambda *_: nullcontext())
    monkeypatch.setattr(selfplay, "keep_policies", lambda *_: None)
    monkeypatch.setattr(selfplay, "train", lambda *_: parts)
    monkeypatch.setattr(selfplay, "find_opponent", lambda *_: [pair])
    rows = chain(*experiment.prepare(PURSE, GGBenchConfig(), BoxLimits(), 0))
    assert sum(row.seconds for row in rows) < 50


@pytest.fixture(scope="module")
def training(finished_run: tuple[Path, str]) -> Iterator[tuple[Box, dict[int, bytes]]]:
    """A box with the checkpoints of the run, and their weights by quarter."""
    with Archive.open(finished_run[0] / "archive") as archive:
        rows = archive.rows("gg_agents")
        weights = {r["quarter"]: archive.get_adapter(r["weights_sha256"]) for r in rows}
    assert [row["steps"] for row in rows] == [2048, 4096, 6144, 8192]
    with Box(PURSE) as box:
        play.keep_policies(box, weights)
        yield box, weights


@pytest.mark.parametrize("has_masks", [True, False])
def test_the_learner_has_the_settings_of_table_4(has_masks: bool) -> None:
    with Box(PURSE) as box:
        settings = TrainConfig(masked=has_masks)
        model = play.learner(play.TrainingGames(box, settings, 0), settings, 1)
        assert type(model).__name__ == ("MaskablePPO" if has_masks else "PPO")
        assert (model.learning_rate, model.gamma, model.gae_lambda) == (3e-4, 0.99, 0.95)
        assert (model.clip_range(1), model.batch_size) == (0.2, 64)
        assert model.n_steps * model.n_envs == 2048


def test_four_checkpoints_the_last_of_which_beats_random_moves(training) -> None:
    box, weights = training
    assert len(set(weights.values())) == 4
    wins, _ = play.contest(box, ({"kind": "greedy", "policy": "quarter4"}, RANDOM), range(100))
    assert wins >= 60


def test_the_box_plays_the_policy_that_was_trained(training) -> None:
    box, weights = training
    view = box.new(3)
    features = np.append(np.frombuffer(view.observation, np.float32), np.float32(1))
    for matrix, biases in (layers := play.layers_of(weights[4]))[:-1]:
        features = np.tanh(features @ matrix + biases)
    logits = features @ layers[-1][0] + layers[-1][1]
    best = max(view.legal, key=lambda move: logits[move])
    assert box.choose({"kind": "greedy", "policy": "quarter4"}, 0) == best


def test_an_opponent_searches_beats_random_moves_and_is_beaten_in_fresh_games(training) -> None:
    box, _ = training
    settings = OpponentConfig(simulations=10, ladder=(100,))
    pairs = list(play.find_opponent(box, settings, 0))
    assert [(p.winner, p.loser, p.purpose, p.games) for p in pairs[:4]] == [
        (f"quarter{quarter}", "random", "baseline", 30) for quarter in range(1, 5)
    ]
    able = {p.winner for p in pairs[:4] if p.wins >= 27}
    assert {p.winner for p in pairs[:4] if p.passed} == able
    passed, text = play.opponent_verdict(pairs)
    confirmations = [p for p in pairs if p.purpose == "confirmation"]
    assert passed == any(p.passed for p in confirmations)
    assert all(p.loser in able and p.passed == (p.wins >= 24) for p in confirmations)
    assert ("fresh games" in text) or not able


def test_a_game_that_does_not_end_is_refused_in_training() -> None:
    endless = hostile.GOOD.replace("max(0, self.left - action - 1)", "9")
    with (
        Box(hostile.game_of(endless)) as box,
        pytest.raises(GameFaultError, match="lasts longer than 100 moves"),
    ):
        play.train(box, TrainConfig(steps=8192), 0)
