"""The machine instruction by instruction, against a judge whose numbers are known; lists and the
package's helper functions by hand (``tests/peer`` has them beside the wheel)."""

from __future__ import annotations

import doctest
import re
import string
from random import Random
from typing import Any

import pytest

import xgl
from xgl import Metadata
from xgl.errors import FlowError
from xgl.runtime import predicates, values
from xgl.runtime.requests import Assigned, Ensured, Move, Moved, Play, Revealed

DIALECTS = pytest.mark.parametrize("dialect", ["paper", "xent"])


def events(play: Play, kind: type) -> list[Any]:
    return [event for event in play.events if isinstance(event, kind)]


@pytest.mark.parametrize(
    ("expression", "paper", "xent"),
    [
        ('"a" + "b"', "a b", "ab"),
        ('"a" + ("b" + "c")', "a b c", "abc"),
        ('("a" + "b") // " "', "a", "ab"),
    ],
)
def test_cat_sandwiches_a_space_in_the_paper_and_none_in_xent(
    table: Any, expression: str, paper: str, xent: str
) -> None:
    code = f"assign(s={expression})"
    assert table.play(code).events == (Assigned((("s", paper),)),)
    assert table.play(code, dialect="xent").events == (Assigned((("s", xent),)),)


@DIALECTS
@pytest.mark.parametrize(
    ("text", "mark", "before", "after"),
    [
        *(("ab#cd", "#", "ab", "cd"), ("a##b", "##", "a", "b"), ("a#", "#", "a", "")),
        *(("ab", "#", "ab", ""), ("ab", "", "ab", ""), ("#", "#", "", "")),
    ],
)
def test_cut(table: Any, dialect: str, text: str, mark: str, before: str, after: str) -> None:
    code = f'assign(s="{text}", t="{mark}")\nassign(x=s // t, y=s % t)'
    [_, event] = table.play(code, dialect=dialect).events
    assert event == Assigned((("x", before), ("y", after)))


def test_assign_stores_left_to_right_in_the_paper_and_all_at_once_in_xent(table: Any) -> None:
    code = 'assign(s="a", t=s + "b", x=t)'
    assert table.play(code).registers == {"s": "a", "t": "a b", "x": "a b"}
    assert table.play(code, dialect="xent").registers == {"s": "a", "t": "b", "x": "b"}
    swap = 'assign(s="a", t="b")\nassign(s=t + "", t=s + "")'
    assert table.play(swap, dialect="xent").registers == {"s": "b", "t": "a"}


@DIALECTS
def test_a_story_is_drawn_once_for_a_map_and_site_also_in_loops(table: Any, dialect: str) -> None:
    code = (
        "beacon(flag_1)\nassign(s=story() // story(), t=story())\nassign(x=story())\n"
        "replay(flag_1, 1)"
    )
    play = table.play(code, dialect=dialect, map_seed=3)
    stories = [event.values for event in events(play, Assigned)]
    assert stories == [(("s", "tale 3 0"), ("t", "tale 3 2")), (("x", "tale 3 3"),)] * 2
    assert [request.site for _, request in table.stories.asked] == [0, 1, 2, 3] * 2
    assert table.play(code, dialect=dialect, map_seed=4).registers["t"] == "tale 4 2"


def test_story_uses_its_argument_in_the_paper_only(table: Any) -> None:
    code = 'assign(s=story(), t=story(5), x=story("of owls"))'
    metadata = Metadata(story_tokens=9)
    assert table.play(code, metadata=metadata).registers["x"] == "tale 7 2 of owls"
    assert table.play(code, dialect="xent", metadata=metadata).registers["x"] == "tale 7 2"
    requests = [(request.tokens, request.prompt) for _, request in table.stories.asked]
    assert requests == [(9, ""), (5, ""), (9, "of owls"), (9, ""), (9, ""), (9, "")]


def test_constants_by_prompts_are_drawn_in_the_order_of_their_names(table: Any) -> None:
    play = table.play("elicit(x)", "m", metadata=Metadata(prompts={"b": "two", "a": "one"}))
    assert play.registers == {"a": "tale 7 0 one", "b": "tale 7 1 two", "s": "m"}


def test_several_registers_are_asked_one_after_another(table: Any) -> None:
    play = table.play("elicit(bob, s, t, p, 1)", bob=["one 1", "two 2", "three 3"])
    assert play.registers == {"s": "one", "t": "two", "p": "three"}
    views = table.views("bob")
    assert [view.register for view in views] == ["s", "t", "p"]
    assert [[item.text for item in view.items] for view in views] == [[], ["one"], ["one", "two"]]
    assert [turn.request.turn for turn in table.players["bob"].turns] == [0, 1, 2]
    assert events(play, Moved) == [
        Moved("bob", register, Move(text, cut_tokens=1), 0, place)
        for place, (register, text) in enumerate([("s", "one"), ("t", "two"), ("p", "three")])
    ]


CAPPED = Metadata(max_characters=12)


@pytest.mark.parametrize(
    ("code", "script", "fits"),
    [
        ('assign(s="twelve chars")', "", True),
        ('assign(s="sixsix", t="sixsix")\nassign(s=s + t)', "", False),
        ('assign(s=("sixsix" + "sixsix") // "x")', "", False),
        ('assign(s=story("words"))', "", False),
        ("elicit(s)", "twelve chars", True),
        ("elicit(s)", "thirteen char", False),
        ('reveal("sixsix" + "sixsix")', "", False),
        ('reward(xent("s" | "sixsix" + "sixsix"))', "", False),
        ('ensure("sixsix" + "sixsix")', "", False),
        ('assign(l=["sixsix", "sixsix"])', "", True),
        *[(f"assign(l=[{', '.join(['t'] * n)}])", "", n == 256) for n in (256, 257)],
    ],
)
def test_a_text_over_the_cap_ends_the_game(table: Any, code: str, script: str, fits: bool) -> None:
    play = table.play(code, script, metadata=CAPPED)
    assert play.outcome == ("finished" if fits else "oversize")


def test_what_the_judge_cannot_read_ends_the_game_and_scores_stay(table: Any) -> None:
    table.judge.window = 4
    code = 'elicit(s)\nreward(xent("a b"))\n{}\nreward(xent("a b"))'
    too_long = 'reward(xent("a b c d e"))', 'reward(xed("a" | "b c d e"))', 'ensure("a b c d e")'
    for line in too_long:
        play = table.play(code.format(line), "m")
        assert (play.outcome, play.scores) == ("oversize", {"black": table.bits("a b")})
    assert table.play(code.format('reward(xent("a b c d"))'), "m").outcome == "finished"


@DIALECTS
def test_a_failed_ensure_goes_back_to_its_elicit(table: Any, dialect: str) -> None:
    code = 'elicit(s, t)\nassign(x=s)\nensure("so " + s)\nelicit(y)'
    play = table.play(code, "bad", "1", "good", "2", "end", dialect=dialect)
    assert play.outcome == "finished"
    assert play.registers == {"s": "good", "t": "2", "x": "good", "y": "end"}
    failures = 1 if dialect == "paper" else 0
    assert events(play, Ensured) == [Ensured("black", False, 1), Ensured("black", True, failures)]
    assert play.steps == 7
    assert play.accepted_moves("black") == ["good", "2", "end"]


@DIALECTS
def test_the_last_executed_elicit_may_stand_after_the_ensure(table: Any, dialect: str) -> None:
    code = (
        'elicit(s)\nbeacon(flag_1)\nensure("so " + t)\nelicit(bob, t)\nreplay(flag_1, 1)\nelicit(x)'
    )
    play = table.play(code, "first", "last", bob=["bad", "good"], dialect=dialect)
    moves = [(event.player, event.line) for event in events(play, Moved)]
    assert moves == [("black", 0), ("bob", 3), ("bob", 3), ("black", 5)]
    assert events(play, Ensured)[1] == Ensured("bob", False, 1)
    assert play.registers == {"s": "first", "t": "good", "x": "last"}
    assert play.accepted_moves("bob") == ["good"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("2 < 2", False),
        ("2 <= 2", True),
        ("xed(s | t) < xent(s) - xent(s | t)", False),
        ("xed(s | t) >= xent(s) - xent(s | t)", True),
        ('is_true("good", "bad")', False),
        ('is_false("bad")', True),
        ('is_true("num_words<3", "a a a")', False),
        ('is_true("only uses words of", "he-n", "hen")', True),
        ('"good", "bad"', False),
        ('1 < 2, "bad"', False),
        ('only_uses_words("a  b", "b  a")', True),
        ('only_uses_words("a b", "b  a")', False),
    ],
)
def test_conditions(table: Any, condition: str, holds: bool) -> None:
    code = f'assign(s="the cat", t="a dog")\nelicit(x)\nensure({condition})'
    play = table.play(code, "m", metadata=Metadata(max_failures=0))
    assert play.outcome == ("finished" if holds else "forfeit")


def test_a_statement_is_joined_as_the_dialect_joins(table: Any) -> None:
    code = 'elicit(s)\nensure("so" + s, is_true("so", s))'
    table.play(code, "m")
    table.play(code, "m", dialect="xent")
    statements = [[request.statement for request in batch] for batch in table.judge.judged]
    assert statements == [["so m"], ["som", "so m"]]  # equal statements are asked once


LOOP = 'beacon(flag_1)\nelicit(s)\nensure("so " + s)\nreplay(flag_1, 1)'


def test_ten_failures_are_allowed_and_the_next_is_a_forfeit(table: Any) -> None:
    code = 'elicit(s)\nensure("so " + s)\nreward(xent(s))'
    play = table.play(code, *["bad"] * 10, "good")
    assert (play.outcome, play.forfeiter) == ("finished", "")
    assert play.scores == {"black": table.bits("good")}
    play = table.play(code, *["bad"] * 11)
    assert (play.outcome, play.forfeiter, play.scores) == ("forfeit", "black", {"black": 0.0})
    assert events(play, Ensured)[-1] == Ensured("black", False, 11)


TWO_LINES = 'elicit(s)\nensure("so " + s)\nelicit(t)\nensure("so " + t)'


@pytest.mark.parametrize(
    ("code", "dialect", "failures", "outcome"),
    [
        (LOOP, "paper", (6, 4), "finished"),
        (LOOP, "paper", (6, 5), "forfeit"),
        (LOOP, "xent", (10, 10), "finished"),
        (LOOP, "xent", (10, 11), "forfeit"),
        (TWO_LINES, "paper", (6, 5), "forfeit"),
        (TWO_LINES, "xent", (6, 6), "finished"),
    ],
)
def test_failures_add_up_in_a_game_in_the_paper_and_until_the_line_passes_in_xent(
    table: Any, code: str, dialect: str, failures: tuple[int, ...], outcome: str
) -> None:
    script = [move for count in failures for move in (*["bad"] * count, "good")]
    assert table.play(code, *script, dialect=dialect).outcome == outcome


def test_the_others_keep_what_they_have_at_a_forfeit(table: Any) -> None:
    code = "elicit(alice, s)\nreward(alice, xent(s))\nelicit(t)\nensure(2 < 1)\nreward(xent(s))"
    play = table.play(code, *"0123456789A", alice=["a b"])
    assert play.scores == {"alice": table.bits("a b"), "black": 0.0}
    assert "reward alice" in [item.label for item in table.views("black")[0].items]
    assert play.outcome == play.outcome_for("black") == "forfeit"
    assert play.outcome_for("alice") == "finished"


@pytest.mark.parametrize("statement", ["good", "bad"])
def test_an_ensure_before_any_elicit_is_an_error_in_xent(table: Any, statement: str) -> None:
    with pytest.raises(FlowError, match=r"^line 1: an ensure before any elicit$"):
        table.play(f'ensure("{statement}")\nelicit(s)', "m", dialect="xent")


def test_accepted_moves_of_earlier_turns_of_a_loop_stay(table: Any) -> None:
    code = 'beacon(flag_1)\nelicit(s, t)\nensure("so " + s)\nreplay(flag_1, 2)'
    script = ["a", "1", "bad", "2", "bad", "3", "b", "4", "bad", "5", "c", "6"]
    play = table.play(code, *script)
    assert play.accepted_moves("black") == ["a", "1", "b", "4", "c", "6"]
    twice = table.play('elicit(s, s)\nensure("so " + s)', "good", "bad", "one", "two")
    assert twice.accepted_moves("black") == ["one", "two"]


# -- Lists and the package's helper functions, by hand; ``tests/peer`` has them beside the wheel ---


@pytest.mark.parametrize("module", [values, predicates])
def test_what_the_docstrings_say(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_a_list_holds_registers_in_xent_and_values_in_the_paper(table: Any) -> None:
    for item in ("s", "first_n_tokens(s, 1)"):  # one token or less is the register itself
        code = f'assign(s="a")\nassign(l=[{item}, "b"])\nassign(s="c")\nassign(t="".join(l))'
        assert table.play(code, dialect="xent").registers["t"] == "cb"
    assert table.play('assign(l=["é"])', dialect="xent").registers == {"l": '["é"]'}
    paper = 'assign(s="a")\nassign(l=[s, "b"])\nassign(s="c")\nassign(t="".join(l))'
    assert table.play(paper).registers["t"] == "ab"


@pytest.mark.parametrize(("mark", "text"), [("", "a,b,c"), ('" "', "a,,b\tc"), ('""', "a  b\tc")])
def test_a_text_is_split_at_white_space_or_at_a_mark(table: Any, mark: str, text: str) -> None:
    code = f'assign(s=",".join("a  b\\tc".split({mark})))'
    assert table.play(code, dialect="xent").registers["s"] == text


def test_a_string_keeps_its_prefix_until_it_is_joined(table: Any) -> None:
    code = 'assign(s="a b" | "c d")\nreward(alice, xed(s))\nreward(alice, xed(s + "") )'
    first, second = (e for e in table.play(code, dialect="xent").events if hasattr(e, "bits"))
    before, after = (table.bits("a b", *context, dialect="xent") for context in ((), ("c d",)))
    assert (first.bits, second.bits) == (before - after, 0.0)


_MARK = rf"[\s{re.escape(string.punctuation)}]"


def _removed_by_patterns(text: str, items: list[str]) -> str:
    """As the released package removes them: one regular expression for each item."""
    for item in items:
        pattern = rf"(^|{_MARK})(?:{re.escape(item)})(?=$|{_MARK})"
        text = re.sub(pattern, r"\1", text, flags=re.IGNORECASE)
    return re.sub(r"\s\s+", " ", text).strip()


def test_words_and_phrases_are_removed_as_by_one_pattern_each() -> None:
    rng, letters = Random(1), "aAbBkK\u212a \u017fsS\u0131\u0130iI -,.\n\tß\u1e9eςσΣ  aab  "
    for _ in range(200):
        text = "".join(rng.choices(rng.choice((letters, "a- ")), k=rng.randint(0, 14)))
        items = ["".join(rng.choices(letters, k=rng.randint(0, 4))) for _ in range(3)]
        assert values.remove_words(text, items) == _removed_by_patterns(text, items)
        common = sorted(predicates.words(text) & predicates.words("".join(items)))
        expected = _removed_by_patterns(text, common)
        assert values.remove_common(text, set(common)) == expected


# -- ``sample`` and ``shuffle``: a function of seeds and place, which nobody's retries move --------

LETTERS = 'assign(l=["a", "b", "c", "d", "e", "f", "g", "h"])\n'
ORDER = 'assign(s=" ".join(shuffle(l)))\n'


def order(table: Any, code: str, **arguments: Any) -> str:
    """The longest text in a private register: all the letters in their order."""
    registers = table.play(LETTERS + code, dialect="xent", **arguments).registers
    return max((text for name, text in registers.items() if name in "stxy"), key=len)


def test_chance_is_a_function_of_the_seeds(table: Any) -> None:
    orders = [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert orders == [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert len(set(orders)) == 20


def test_plays_with_one_seed_of_draws_draw_alike(table: Any) -> None:
    made = xgl.game(xgl.parse(LETTERS + ORDER, "xent"))
    instances = [
        xgl.Instance(made, xgl.Seeds(1, play), draw_seed=seed)
        for play, seed in ((0, None), (1, None), (1, 0), (2, 0))
    ]
    plays = xgl.play_all(instances, xgl.Cast(table.judge, table.stories, {}))
    first, second, *alike = [
        {text for name, text in play.registers.items() if name in "stxy"} for play in plays
    ]
    assert alike == [first, first]
    assert first != second


def test_a_move_is_one_line(table: Any) -> None:
    play = table.play("elicit(s, 9)", "one\ntwo")
    assert play.registers["s"] == "one"


def test_every_run_of_a_line_and_every_draw_in_it_is_its_own(table: Any) -> None:
    code = 'assign(s=s + " ".join(shuffle(l)) + "/" + " ".join(shuffle(l)) + "/")\n'
    text = order(table, 'assign(s="")\nbeacon(flag_1)\n' + code + "replay(flag_1, 2)\n")
    assert len(set(text.rstrip("/").split("/"))) == 6


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_retry_has_the_same_chance_and_changes_none_after_it(table: Any, failures: int) -> None:
    code = (
        f'elicit(bob, x, 5)\n{ORDER}reveal(s)\nensure(x in ["good"])\n'
        'assign(t=s, s=sample(l) + "".join(shuffle(l)))\n'
    )
    play = table.play(LETTERS + code, dialect="xent", bob=["bad"] * failures + ["good"])
    plain = table.play(LETTERS + code, dialect="xent", bob=["good"])
    assert play.registers == plain.registers
    reveals = [event for event in play.events if isinstance(event, Revealed)]
    assert len(reveals) == failures + 1
    assert len(set(reveals)) == 1


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_random_numbers_of_other_moves_do_not_depend_on_failures(table: Any, failures: int) -> None:
    code = 'elicit(x)\nensure(1 < 2)\nensure(x in ["good"])\nelicit(bob, y)\nelicit(t)'
    table.play(code, *["bad"] * failures, "good", "end", dialect="xent", bob=["move"])
    [first, *others] = [turn.key for turn in table.players["black"].turns]
    assert first == (7, 0, 0)
    assert others == [*((7, 0, 0, 1, attempt + 1) for attempt in range(failures)), (7, 0, 2)]
    assert [turn.key for turn in table.players["bob"].turns] == [(7, 0, 1)]
