"""Reading the texts that training documents are drawn from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from training.embedded.windows import Sources
from training.embedded.wordnet import WordNet, read_wordnet
from xgl.models.corpus import CorpusStory, common_words, rarity, stories

SAMPLED = Path(__file__).with_name("sampled.jsonl.gz")
"""More stories from SmolLM2, only ever trained on (`sample_stories`)."""
VERSE_NUMBER = re.compile(r"^\w+\s?\d*:\d+\s+")


def verses(path: Path) -> list[str]:
    """The verses of a Bible printed one a line ("Ge1:1 In the beginning …"), without numbers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [VERSE_NUMBER.sub("", line).strip() for line in lines if line.strip()]


def entries(wordnet: WordNet) -> list[tuple[Sequence[str], str]]:
    """(lemmas, gloss) of the senses whose words are plain."""
    return [(names, gloss) for names, gloss in wordnet.glosses() if names[0].islower()]


def gather(
    bible: Path, wordnet: Path, tokenizer: Tokenizer, sampled: Sequence[CorpusStory] = ()
) -> Sources:
    """All sources: the stories of the train split, and then those sampled for training."""
    train = [*stories("train"), *sampled]
    texts = [story.text for story in train]
    net = read_wordnet(wordnet)
    return Sources(
        stories=train,
        verses=verses(bible),
        entries=entries(net),
        wordnet=net,
        rarity=rarity(texts),
        common=common_words(texts, least=4),
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        decode=lambda ids: tokenizer.decode(ids, skip_special_tokens=False),
    )
