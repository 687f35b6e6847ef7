"""Make the embedded model's tokenizer: `python -m training.embedded.prune_tokenizer --help`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tokenizers import Tokenizer

from training.embedded import tokenizer
from training.embedded.programs import header
from training.embedded.sources import entries, verses
from training.embedded.wordnet import read_wordnet
from xgl.models.corpus import stories

VOCABULARY, SEED = 4096, 0
STORY_WEIGHT, OTHER_WEIGHT, CODE_SAMPLES = 1.0, 0.1, 3000
STATEMENT = re.compile(r'ensure\("no common words between " \+ (\w+) \+ " and " \+ (\w+)\)')


def code_samples(rng: Random) -> Iterator[str]:
    """Programs as they are shown; one rule in the spelling of the authors' engine, too."""
    for count in range(CODE_SAMPLES):
        text = STATEMENT.sub(
            r"ensure(len(common_word_set(\2, \1)) == 0)", header(rng, 1 + count % 3).text
        )
        yield text + "s: A\nt: b\n"


def statistics(bible: Path, wordnet: Path, rng: Random) -> Iterator[tuple[str, float]]:
    """(text, weight) of all that the tokenizer should be good at, code included."""
    for story in stories("train"):
        yield story.text, STORY_WEIGHT
        yield " ".join(sorted(set(story.text.split()))), STORY_WEIGHT / 4
    for verse in verses(bible):
        yield verse, OTHER_WEIGHT
    for _, gloss in entries(read_wordnet(wordnet)):
        yield gloss, OTHER_WEIGHT
    for code in code_samples(rng):
        yield code, STORY_WEIGHT


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Prune SmolLM2's tokenizer to our texts.")
    parser.add_argument("--bible", type=Path, required=True, help="KJV, one verse a line")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of data.noun …")
    parser.add_argument("--reference", type=Path, required=True, help="SmolLM2, converted")
    parser.add_argument("--output", type=Path, required=True, help="the tokenizer's folder")
    args = parser.parse_args()
    path = args.reference / "tokenizer.json"
    spec = tokenizer.read_spec(path)
    texts = statistics(args.bible, args.wordnet, Random(SEED))
    counts = tokenizer.usage(Tokenizer.from_file(str(path)), texts)
    tokens = tokenizer.keep(counts, tokenizer.parents(tokenizer.merges_of(spec)), VOCABULARY)
    tokenizer.save(tokenizer.pruned_spec(spec, tokens), args.output)


if __name__ == "__main__":
    main()
