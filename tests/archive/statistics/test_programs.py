"""The paper's tables of games that are programs, from rows: Tables 1, 5, 6, the funnel, Figures 5
and 6."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.rows import row

from archive.statistics.programs import as_json, program_tables, stage_of
from archive.views.tables import to_json

GAMES = (
    # name, category, author, rules, lines of the program, last stage, whether it passed
    ("a", "number", "chat:m", "one two three.", 10, "opponent", True),
    ("b", "number", "chat:m", "one two.", 20, "opponent", True),
    ("c", "combat", "chat:n", "one", 30, "timeout", False),
    ("d", "combat", "chat:n", "", 0, "", None),
)
STAGES = ("keyword", "execution", "timeout", "opponent")


def rows() -> dict[str, list[dict[str, Any]]]:
    """Four games: two are kept, one is refused, and one has no texts."""
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("gg_games", "gg_filters", "gg_agents", "gg_pairs", "gg_plays")
    }
    for place, (name, category, author, rules, lines, last, passed) in enumerate(GAMES):
        ids = {"run_id": "r", "program_id": name}
        texts = {"rules": rules, "moves": rules, "source": "\n".join(["x = 1"] * lines)}
        facts = {"title": name.upper(), "category": category, "author": author, "place": place}
        failed = None if last else "rules: the answer is empty"
        tables["gg_games"].append(row("gg_games", **ids, **texts, **facts, failed=failed))
        for stage in STAGES[: STAGES.index(last) + 1] if last else ():
            verdict = passed if stage == last else True
            actions = 3 + place if stage == "execution" else None
            facts = {"stage": stage, "passed": verdict, "actions": actions}
            tables["gg_filters"].append(row("gg_filters", **ids, **facts))
        if passed:
            pair = {"purpose": "confirmation", "winner": "quarter4", "loser": "quarter2"}
            facts = {"passed": True, "wins": 27, "games": 30, "simulations": 100}
            tables["gg_pairs"].append(row("gg_pairs", **ids, **pair, **facts))
            for outcome in ("win", "loss", "fault", "draw"):
                tables["gg_plays"].append(row("gg_plays", **ids, player="p", outcome=outcome))
    return tables


@pytest.fixture(scope="module")
def tables() -> dict[str, list[dict[str, Any]]]:
    return as_json(rows())


def test_table_1_compares_all_texts_with_those_that_are_kept(tables: dict[str, Any]) -> None:
    description, code, moves, actions = tables["Texts before and after filtering"]
    assert [description[name] for name in ("n", "min", "max", "n after", "mean after")] == [
        3,
        1,
        4,
        2,
        3.5,
    ]
    assert description["SD"] == pytest.approx(np.std([4, 3, 1]))
    assert (code["mean"], code["max after"]) == (20, 20)
    assert moves == description | {"": moves[""]}
    assert (actions["mean"], actions["mean after"], actions["max"]) == (4, 3.5, 5)


def test_the_funnel_counts_each_filter(tables: dict[str, Any]) -> None:
    counts = {each["filter"]: (each["games"], each["refused"]) for each in tables["Funnel"]}
    assert counts == {
        "texts": (4, 1),
        "keyword": (3, 0),
        "execution": (3, 0),
        "timeout": (3, 1),
        "opponent": (2, 0),
    }


def test_a_game_stands_where_its_last_verdict_says() -> None:
    all_rows = rows()
    states = [stage_of(all_rows, game) for game in all_rows["gg_games"]]
    assert states[0] == "ready"
    assert states[2].startswith("refused: timeout")
    assert states[3] == "no text: rules: the answer is empty"


def test_a_run_without_such_games_has_no_table_and_json_holds_all_others() -> None:
    assert program_tables({name: [] for name in rows()}) == []
    assert all(each.title in to_json(as_json(rows())) for each in program_tables(rows()))
