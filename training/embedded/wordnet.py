"""WordNet read from its own database files: glosses, and the words related to a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PARTS = ("noun", "verb", "adj", "adv")
RELATED = frozenset({"@", "~", "#p", "%p", "&", "+", "*", ">"})
SUFFIXES = (("ies", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"))


@dataclass(frozen=True)
class Synset:
    """One sense: lemmas, gloss with examples, and senses it points to (symbol, part, offset)."""

    lemmas: tuple[str, ...]
    gloss: str
    pointers: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class WordNet:
    """All senses by (part, offset), and the senses of each lemma, the most frequent first."""

    synsets: dict[tuple[str, int], Synset]
    senses: dict[str, list[tuple[str, int]]]

    def lemma(self, word: str) -> str | None:
        """The dictionary form of `word`, if it is known."""
        if word in self.senses:
            return word
        for suffix, ending in SUFFIXES:
            if word.endswith(suffix) and word[: -len(suffix)] + ending in self.senses:
                return word[: -len(suffix)] + ending
        return None

    def related_words(self, word: str, senses: int = 1) -> list[str]:
        """Single words one relation away from the first `senses` senses: synonyms come first."""
        lemma = self.lemma(word)
        if lemma is None:
            return []
        own = [self.synsets[key] for key in self.senses[lemma][:senses]]
        near = [
            self.synsets[(part, offset)]
            for synset in own
            for symbol, part, offset in synset.pointers
            if symbol in RELATED
        ]
        names = [name for synset in [*own, *near] for name in synset.lemmas]
        plain = (name for name in names if name.isalpha() and name.islower())
        return [name for name in dict.fromkeys(plain) if name not in (word, lemma)]

    def glosses(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """(lemmas, gloss) of every sense, in the files' order."""
        for synset in self.synsets.values():
            yield synset.lemmas, synset.gloss


def _synset(fields: list[str], gloss: str) -> Synset:
    count = int(fields[3], 16)
    lemmas = tuple(fields[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(count))
    rest = fields[4 + 2 * count :]
    quads = (rest[1 + 4 * i : 5 + 4 * i] for i in range(int(rest[0])))
    names = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
    pointers = tuple((symbol, names[pos], int(offset)) for symbol, offset, pos, _ in quads)
    return Synset(lemmas, gloss.strip(), pointers)


def _lines(path: Path) -> Iterator[str]:
    # The licence at the head of each file is indented; data lines are not.
    return (line for line in path.read_text().splitlines() if not line.startswith(" "))


def read_wordnet(folder: Path) -> WordNet:
    """The database in `folder` (files `data.*` and `index.*` of WordNet 3.x)."""
    synsets: dict[tuple[str, int], Synset] = {}
    senses: dict[str, list[tuple[str, int]]] = {}
    for part in PARTS:
        for line in _lines(folder / f"data.{part}"):
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            synsets[(part, int(fields[0]))] = _synset(fields, gloss)
        for line in _lines(folder / f"index.{part}"):
            fields = line.split()
            offsets = [(part, int(offset)) for offset in fields[-int(fields[2]) :]]
            senses.setdefault(fields[0].replace("_", " "), []).extend(offsets)
    return WordNet(synsets, senses)
