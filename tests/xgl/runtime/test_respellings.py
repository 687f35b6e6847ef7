"""Words in the paper's dialect: no respelling passes a rule about words."""

from __future__ import annotations

from typing import Any

import pytest

from xgl.cli.commands import program_facts
from xgl.cli.files import Source
from xgl.runtime.predicates import pieces, spellings

RESPELLED = [
    *("hen", "HEN", "a,hen", "fox;hen;owl", "“hen”", "«hen»", "‘hen’", "hen…", "hen—fox"),
    *("(hen)", "hen1", "1hen", "hen_", "he-n", "h.e.n", "he\u200bn", "he\u00adn"),
    *("he\u2060n", "he\ufe0fn", "he\u034fn", "he\u3164n", "a\u200bhen", "a,he\u200bn"),
    *("a\u200bhe-n", "hen\u00a0fox", "ｈｅｎ", "ｈen", "ⓗⓔⓝ", "𝐡𝐞𝐧", "ʰᵉⁿ", "hén", "he\u0301n"),
    *("h\u0336e\u0336n\u0336", "hen's", "a'hen", "hen🐔", "hen$", "fox/hen"),
    *("\u202ehen\u202c",),
]
OTHER = ["", "a fox", "hens", "then", "h", "…", "it's", "he", "n", "ħ", "heron,owl", "he n"]
RULES = (
    'ensure("no common words between" + s + "&" + x)',
    "ensure(is_true('no shared words', s, x))",
    "ensure(len(common_word_set(s, x)) < 1)",
)


def passes(table: Any, rule: str, move: str, dialect: str) -> bool:
    code = f'assign(s="red hen")\nelicit(x, 30)\n{rule}'
    play = table.play(code, move, "", dialect=dialect)
    return bool(next(event for event in play.events if hasattr(event, "passed")).passed)


@pytest.mark.parametrize("rule", RULES)
def test_no_respelling_of_a_word_passes(table: Any, rule: str) -> None:
    passed = [move for move in RESPELLED if passes(table, rule, move, "paper")]
    assert passed == []
    assert [move for move in OTHER if not passes(table, rule, move, "paper")] == []


@pytest.mark.parametrize("rule", RULES)
def test_the_engines_words_stay_in_its_dialect(table: Any, rule: str) -> None:
    for move in ("a,hen", "“hen”", "hen1", "he\u200bn", "ｈｅｎ"):
        assert passes(table, rule, move, "xent")
    for move in ("hen", "HEN!", "he-n"):
        assert not passes(table, rule, move, "xent")


@pytest.mark.parametrize("other", ["s", "[s]", '["hen"]'])
def test_a_respelled_word_is_removed(table: Any, other: str) -> None:
    code = f'assign(s="hen")\nelicit(t, 30)\nassign(x=remove_common_words(t, {other}))'
    for move in RESPELLED:
        play = table.play(code, f"a fox {move} saw", dialect="paper")
        assert "hen" not in spellings(play.registers["x"]), move
        assert {"fox", "saw"} <= spellings(play.registers["x"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, the CAT!", ["the", "cat", "the", "cat"]),
        ("one,two;three", ["one", "two", "three"]),
        ("one\u200btwo", ["onetwo"]),
        ("don't they’re", ["dont", "theyre"]),
        ("a - b", ["a", "b"]),
        ("2nd", ["2", "nd"]),
        ("कि कु", ["कि", "कु"]),
        ("…", []),
    ],
)
def test_words_are_counted_as_they_are_seen(text: str, words: list[str]) -> None:
    assert pieces(text) == words
    assert set(words) <= spellings(text)


def notes(text: str, dialect: str) -> list[str]:
    record, _ = program_facts(Source("a file", "a file", text, dialect))
    return [note for note in record["notes"] if "as they are spelled" in note]


@pytest.mark.parametrize("rule", [*RULES, "assign(y=remove_common_words(x, s))"])
def test_check_names_the_weakness_of_the_engines_words(rule: str) -> None:
    text = f"assign(s=story())\nelicit(x, 9)\n{rule}\nreward(xed(s | x))"
    assert [note.partition(":")[0] for note in notes(text, "xent")] == ["line 3"]
    assert notes(text, "paper") == []
    assert notes("assign(s=story())\nelicit(x, 9)\nreward(xed(s | x))", "xent") == []


def test_a_play_pays_for_respellings(table: Any) -> None:
    move = " ".join(f"a,b{number}\u200bc" for number in range(400))
    line = "assign(y=remove_common_words(x, x))\n"
    code = f"elicit(x, 4000)\nbeacon(flag_1)\n{line * 8}replay(flag_1, 60)"
    play = table.play(code, move)
    assert play.outcome == "oversize"
    assert "work" in str(play.reason)
