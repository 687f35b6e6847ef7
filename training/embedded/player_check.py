"""Does an untrained player answer with words about the texts it is shown?

`python -m training.embedded.player_check --model embedded`: the player is asked for moves in three
games over held-out stories. Reported for each game: the share of moves that share a content word
with a shown story, the share about each story alone, and the mean bits that a move saves on the
stories it was made for, beside the moves of the next map
(a move that helps every map alike saves as much there).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.models.corpus import content_words, stories
from xgl.runtime.presentation import STOP, render
from xgl.runtime.requests import Item, View

GAMES = {
    "one story": "assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))",
    "two stories": "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))",
    "three stories": "assign(s=story(), t=story(), x=story())\nelicit(y, 8)\n"
    "reward(xed(s | y) - xed(t | y))",
}
REGISTERS = ("s", "t", "x", "y")
STORY_TOKENS, MOVE_TOKENS, MAPS, SEED = 24, 8, 100, 7


@dataclass(frozen=True)
class Check:
    """Shares in [0, 1]; bits are xed(story | move), first token unscored, mean over the stories.

    `own_bits`: moves made for these stories; `permuted_bits`: moves made for the next map.
    """

    game: str
    moves: int
    distinct: float
    ended: float
    on_topic: float
    about_each: tuple[float, ...]
    own_bits: float
    permuted_bits: float


def maps(tokenizer: Any, count: int, texts: int, rng: Random) -> list[tuple[str, ...]]:
    """`count` maps of `texts` beginnings of distinct held-out stories."""
    from training.embedded.scores import tokens

    samples = rng.sample(stories("held_out"), count * texts)
    beginnings = [
        tokenizer.decode(tokens(tokenizer, s.text)[:STORY_TOKENS]).rstrip("\ufffd ")
        for s in samples
    ]
    return [tuple(beginnings[i * texts : (i + 1) * texts]) for i in range(count)]


def prompt(code: str, texts: Sequence[str]) -> str:
    """What the player sees, as the games present it."""
    items = tuple(Item(name, text) for name, text in zip(REGISTERS, texts, strict=False))
    return render(View("black", code, items, REGISTERS[len(texts)]))


def about(move: str, texts: Sequence[str]) -> list[bool]:
    """For each story, does the move share a content word with it?"""
    own = set(content_words(move))
    return [bool(own & set(content_words(text))) for text in texts]


def saved_bits(
    model: Any, tokenizer: Any, stories: Sequence[tuple[str, ...]], moves: Sequence[str]
) -> float:
    """Mean bits that each map's move saves on each of its stories."""
    from training.embedded.topicality import xeds

    pairs = [(text, move) for texts, move in zip(stories, moves, strict=True) for text in texts]
    return sum(xeds(model, tokenizer, pairs)) / len(pairs)


def check(model: Any, tokenizer: Any, name: str, count: int) -> Check:
    """One game's numbers."""
    import torch

    from training.embedded.scores import sample, tokens

    program = game(parse(GAMES[name]))
    texts = program.code.count("story()")
    text_maps = maps(tokenizer, count, texts, Random(SEED))
    bos = [tokenizer.bos_token_id]
    prompts = [bos + tokens(tokenizer, prompt(program.code, map_texts)) for map_texts in text_maps]
    stop = frozenset((*tokens(tokenizer, STOP), tokenizer.eos_token_id))
    generator = torch.Generator().manual_seed(SEED)
    sampled = sample(model, prompts, MOVE_TOKENS, stop, generator)
    moves = [tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in sampled]
    topics = [about(move, map_texts) for move, map_texts in zip(moves, text_maps, strict=True)]
    return Check(
        game=name,
        moves=count,
        distinct=len(set(moves)) / count,
        ended=sum(len(ids) < MOVE_TOKENS for ids in sampled) / count,
        on_topic=sum(map(any, topics)) / count,
        about_each=tuple(sum(t[i] for t in topics) / count for i in range(texts)),
        own_bits=saved_bits(model, tokenizer, text_maps, moves),
        permuted_bits=saved_bits(model, tokenizer, text_maps, [*moves[1:], moves[0]]),
    )


def main() -> None:
    """Entry point."""
    from xgl.models.resolve import load

    parser = argparse.ArgumentParser(description="Moves of an untrained player on held-out maps.")
    parser.add_argument("--model", default="embedded", help="embedded, smollm2, a folder, a hub id")
    parser.add_argument("--maps", type=int, default=MAPS)
    args = parser.parse_args()
    model, tokenizer = load(args.model)
    for name in GAMES:
        print(json.dumps(asdict(check(model, tokenizer, name, args.maps))))


if __name__ == "__main__":
    main()
