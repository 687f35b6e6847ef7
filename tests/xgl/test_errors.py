"""What is said of a text is bounded, whatever the text: problems, quoted lines, whole messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from support.example import EXAMPLE

import evo
import xgl
from archive import Run
from xgl import Cast, Episode, Instance, ProgramError, analyse, parse, play, play_all, read_game
from xgl.errors import MAX_MESSAGE, MAX_PROBLEMS, MAX_QUOTED, ConfigError, Problem
from xgl.judge.loading import load_judge, load_stories

WIDE = {
    "compared with each other": f"ensure({'<'.join('s' * 1900)})",
    "many unknown registers": f"elicit({'q, ' * 1300}1)",
    "one long name": f"elicit({'q' * 3900})",
    "a long instruction": f"{'é' * 3900}(s)",
    "look-alike letters": f"elicit({'ｓ' * 3900})",
    "nested lists of wrong items": f"assign(l={'[' * 30}{'1, ' * 1200}1{']' * 30})",
    "longer than a line may be": "elicit(s)" * 10_000,
}


@pytest.mark.parametrize(("dialect", "lines"), [("xent", 1), ("paper", 64)])
@pytest.mark.parametrize("name", WIDE)
def test_a_wide_line_makes_a_bounded_message(name: str, dialect: str, lines: int) -> None:
    with pytest.raises(ProgramError) as refusal:
        parse("\n".join([WIDE[name]] * lines), dialect)
    assert len(refusal.value.problems) <= MAX_PROBLEMS
    assert len(str(refusal.value)) <= MAX_MESSAGE
    for problem in refusal.value.problems:
        _, quotation, _ = str(problem).split("\n")
        assert len(quotation) <= MAX_QUOTED + len("    ")
        assert max(len(problem.found), len(problem.expected)) <= MAX_QUOTED


def test_a_long_line_is_shown_around_its_caret() -> None:
    for before, after in ((0, 900), (40, 900), (500, 500), (900, 3), (900, 0)):
        line = f"{'a' * before}?{'b' * after}"
        _, quotation, caret = str(Problem(1, before + 1, "x", "y", line)).split("\n")
        assert quotation[caret.index("^")] == "?"
        assert len(quotation) <= MAX_QUOTED + len("    ")
        assert ("…" in quotation[:5], quotation.endswith("…")) == (before > 80, after > 80)


GAME: Any = read_game("single_text")
EMBEDDED = load_judge("embedded")
STORIES = load_stories("corpus", EMBEDDED)
WRONG: Any = None
MISTAKES: dict[str, Callable[[], Any]] = {
    "text: found None": lambda: parse(WRONG),
    "path: found None": lambda: read_game(WRONG),
    "metadata: found {1: 2}": lambda: read_game("pair", metadata={1: 2}),  # type: ignore[arg-type]
    "program: found Game": lambda: analyse(GAME),
    "program: found None": lambda: xgl.to_text(WRONG),
    "instances: found None": lambda: play_all(WRONG, WRONG),
    "instance: found None": lambda: play_all([WRONG], Cast(EMBEDDED, STORIES, {})),
    "cast: found None": lambda: play_all([], WRONG),
    "game: found None": lambda: Episode(WRONG, 1, EMBEDDED, STORIES),
    "seeds: found None": lambda: Instance(GAME, WRONG),
    "judge: found None": lambda: Cast(WRONG, STORIES, {}),
    "judge: found 'embedded'": lambda: load_stories("corpus", "embedded"),  # type: ignore[arg-type]
    "players: found None": lambda: Cast(EMBEDDED, STORIES, WRONG),
    "black: found None": lambda: Cast(EMBEDDED, STORIES, {"black": WRONG}),
    "move: found None": lambda: Episode(GAME, 1, EMBEDDED, STORIES).step(WRONG),
    "episode: found None": lambda: xgl.start_all([WRONG]),
    "archive: found None": lambda: Run(WRONG),
    "seed: found 3.0": lambda: play(GAME, "a", seed=3.0),  # type: ignore[arg-type]
    "stories: found 'corpus'": lambda: play(GAME, "a", stories="corpus"),  # type: ignore[arg-type]
    "game: found 5": lambda: evo.Run.open(EXAMPLE).game(5),  # type: ignore[arg-type]
    "settings: found 'seed=3'": lambda: evo.grow("seed=3"),  # type: ignore[arg-type]
    "callbacks: found [5], expected a list": lambda: evo.grow({}, [5]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("message", MISTAKES)
def test_an_argument_of_another_kind_is_answered_in_a_sentence(message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        MISTAKES[message]()
