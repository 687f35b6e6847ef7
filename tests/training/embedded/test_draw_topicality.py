"""How triples are drawn and how a player's moves are read."""

from __future__ import annotations

from random import Random

from training.embedded.draw_topicality import (
    HINT_WORDS,
    STORY_WORDS,
    Candidate,
    apart,
    beginning,
    draw,
    own_hint,
    related_hint,
)
from training.embedded.player_check import GAMES, about, prompt
from training.embedded.wordnet import Synset, WordNet
from xgl.models.corpus import words

KENNEL = WordNet(
    synsets={
        ("noun", 1): Synset(("dog", "hound"), "an animal", (("@", "noun", 2),)),
        ("noun", 2): Synset(("animal", "beast"), "alive", ()),
    },
    senses={"dog": [("noun", 1)], "animal": [("noun", 2)]},
)


def test_own_hint_is_the_rarest_words_in_their_order() -> None:
    rarities = {"tailor": 5.0, "needle": 9.0, "golden": 3.0, "lantern": 7.0}
    assert own_hint("A tailor, a golden needle, a lantern.", rarities) == [
        "tailor",
        "needle",
        "lantern",
    ]


def test_related_hint_never_repeats_the_story() -> None:
    common = frozenset({"hound", "animal", "beast"})
    rarities = {"dog": 5.0}
    assert related_hint("A dog barked.", "A dog barked.", KENNEL, common, rarities) == ["hound"]
    whole = "A dog barked. The hounds and animals and beasts fled."
    assert related_hint("A dog barked.", whole, KENNEL, common, rarities) == []


def test_hints_of_another_story_share_no_word() -> None:
    one = Candidate("a fox runs", "fox", "animal")
    assert apart(one, Candidate("a sea", "sea", "water"))
    assert not apart(one, Candidate("a dog", "dog", "animals"))
    pool = [one, Candidate("a sea sings", "sea", "water"), Candidate("red hens", "hens", "bird")]
    for triple in draw(pool, Random(0), 3):
        assert not set(words(triple.other)) & set(words(triple.story))
    assert draw(pool, Random(0), 3) == draw(pool, Random(0), 3)


def test_beginning_keeps_whole_words() -> None:
    text = " ".join(f"word{n}" for n in range(40))
    assert beginning(text).split() == text.split()[:STORY_WORDS]
    assert HINT_WORDS < STORY_WORDS


def test_prompt_ends_where_the_move_begins() -> None:
    text = prompt(GAMES["two stories"], ("A fox.", "A hen."))
    assert text == f"{GAMES['two stories']}\ns: A fox.\nt: A hen.\nx:"


def test_moves_are_about_the_stories_whose_content_words_they_share() -> None:
    assert about("the red fox", ("A fox.", "The hen.")) == [True, False]
    assert about("the", ("the fox", "the hen")) == [False, False]
