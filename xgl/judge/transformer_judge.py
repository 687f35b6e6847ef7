"""A transformers causal LM as judge, in bits per token (docs/specification.md, "Scoring")."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice, product
from operator import sub
from typing import TypeVar

from xgl.errors import JudgeError, NotFiniteError, OversizeError
from xgl.judge.engine import MEMORY_BYTES, Engine, ScoringEngine
from xgl.language.dialects import Scoring
from xgl.lm.language_model import ENCODING, LanguageModel, cached_encoder
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.runtime.requests import TEXT_IS_TRUE, ScoreRequest, TokenScores, TruthRequest

TRUTH_PREAMBLE = (
    "Each quoted statement is followed by whether it is true or false.\n"
    '"Two and two are four." true\n'
    '"The sun is a kind of fish." false\n'
    '"A short word is shorter than a long word." true\n'
    '"Winter is warmer than summer." false\n'
)
LONG_WORD, TRIES = 64, 16
"""In a word of more than ``LONG_WORD`` characters only ``TRIES`` ends are tried."""
Named = TypeVar("Named", ScoreRequest, TruthRequest)
Reply = TypeVar("Reply")
_TRUTH_SCORING = Scoring(bos=True, first_token=True)


class TransformerJudge:
    """Scores strings with ``lm`` by way of a :class:`~xgl.judge.engine.ScoringEngine`."""

    def __init__(
        self,
        lm: LanguageModel,
        memory_bytes: int = MEMORY_BYTES,
        engine: Engine | None = None,
        others: Mapping[str, TransformerJudge] | None = None,
    ) -> None:
        """``memory_bytes``: those of a forward pass, beside the weights. ``engine``: computes the
        bits instead of ``lm``, for the token sequences of ``lm``. ``others``: the models under
        this judge (§2.2.2), which answer requests for their names; limits are in the tokens of
        ``lm`` all the same."""
        self.lm = lm
        self._encode = cached_encoder(lm)
        self.engine: Engine = engine or ScoringEngine(lm, memory_bytes)
        self.others = dict(others or {})

    # -- the Judge protocol ----------------------------------------------------------------

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        """Per-token bits of each request; an :class:`OversizeError` if it does not fit.

        Raises :class:`NotFiniteError` naming the request whose logits are not finite, and
        :class:`JudgeError` for a model that is not under this judge.
        """
        return self._answer(requests, TransformerJudge._score)

    def _answer(
        self,
        requests: Sequence[Named],
        answer: Callable[[TransformerJudge, Sequence[Named]], Sequence[Reply]],
    ) -> list[Reply]:
        """The answers in the order of the requests, those of each model in one batch."""
        batches = {}
        for name in dict.fromkeys(request.model for request in requests):
            own = [each for each in requests if each.model == name]
            batches[name] = iter(answer(self.named(name), own))
        return [next(batches[request.model]) for request in requests]

    def named(self, name: str) -> TransformerJudge:
        """The model under this judge of a name; the judge itself for none. Raises
        :class:`JudgeError`."""
        if name and name not in self.others:
            found = ", ".join(self.others) or "none"
            raise JudgeError(f"no model {name!r} under the judge, found {found}")
        return self.others[name] if name else self

    def _score(self, requests: Sequence[ScoreRequest]) -> list[TokenScores | OversizeError]:
        sequences = [self.sequence(request) for request in requests]
        fitting = [
            sequence for sequence in sequences if sequence and len(sequence.ids) <= self.lm.window
        ]
        bits = iter(self.engine.bits(fitting))
        results: list[TokenScores | OversizeError] = []
        for request, sequence in zip(requests, sequences, strict=True):
            if sequence is None:
                results.append(TokenScores(()))
            elif len(sequence.ids) > self.lm.window:
                size = f"{len(sequence.ids):,} tokens, at most {self.lm.window:,}"
                results.append(OversizeError(f"{size} fit the judge"))
            else:
                found = next(bits)
                results.append(TokenScores(found))
                if not all(map(math.isfinite, found)):
                    before = "".join(request.context)[-80:]
                    after = f"{request.text[:80]!r}" + (f" after {before!r}" if before else "")
                    raise NotFiniteError(f"the judge's logits are not finite for {after}")
        return results

    def forget(self) -> None:
        """Drop cached scores: see :meth:`Engine.forget`."""
        for judge in (self, *self.others.values()):
            judge.engine.forget()

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        """Truth of each statement, as its model decides."""
        margins = self._answer(requests, TransformerJudge.margins)
        return [each if isinstance(each, OversizeError) else each > 0 for each in margins]

    @property
    def uniform_bits(self) -> float:
        """Bits of a token under a uniform guess: −log₂ ε for ε = 1/|V| (§4.1.2)."""
        return math.log2(self.lm.model.config.vocab_size)

    def count(self, text: str) -> int:
        """Number of the judge's tokens in a text."""
        return len(self._encode(text))

    def truncate(self, text: str, max_len: int) -> str:
        """The longest prefix that re-tokenises to at most ``max_len`` tokens; in a word with more
        than 64 further characters, the longest that is at most 16 characters longer than the first
        ``max_len`` tokens."""
        if self.count(text) <= max_len:
            return text
        encoding = self.lm.tokenizer(text, return_offsets_mapping=True, **ENCODING)
        # Past the word of the first token too many no prefix fits; inside it a longer one may.
        words = encoding.word_ids()
        beyond = len(words) - words[::-1].index(words[max_len])
        end = encoding["offset_mapping"][beyond - 1][1]
        first = encoding["offset_mapping"][max_len][0]
        if end - first > LONG_WORD:  # each try reads the whole prefix
            end = first + TRIES
        # Not by cutting tokens: a cut text may re-tokenise to more tokens than were kept.
        while self.count(text[:end]) > max_len:
            end -= 1
        return text[:end]

    def first_tokens(self, text: str, tokens: int) -> str:
        """The text of the first ``tokens`` tokens; ``text`` itself where it has no more."""
        ids = self._encode(text)
        return text if len(ids) <= tokens else str(self.lm.tokenizer.decode(ids[:tokens]))

    # -- token sequences -------------------------------------------------------------------

    def sequence(self, request: ScoreRequest) -> ScoredSequence | None:
        """The request's tokens; None if none of them is scored."""
        text = self._encode(request.text) if request.text else ()
        context: tuple[int, ...] = (self.lm.bos,) if request.scoring.bos else ()
        for part in request.context:
            context += self._encode(part)
        unscored_count = 0 if request.scoring.first_token and context else 1
        target_count = len(text) - unscored_count
        return ScoredSequence(context + text, target_count) if target_count > 0 else None

    def margins(self, requests: Sequence[TruthRequest]) -> list[float | OversizeError]:
        """Bits by which the model finds each statement true: likelier true than false, and by more
        than two claims about its texts, of which one is true. Above 0 it is true."""
        prompts = [truth_prompts(request) for request in requests]
        pairs = product(chain.from_iterable(prompts), (" true", " false"))
        score_requests = [ScoreRequest(word, (prompt,), _TRUTH_SCORING) for prompt, word in pairs]
        scores = iter(self.score(score_requests))
        return [_margin(list(islice(scores, 2 * len(each)))) for each in prompts]


def truth_prompts(request: TruthRequest) -> list[str]:
    """What the model reads before " true" or " false": for a statement, and where it is about
    texts, for two claims about them.

    The texts come first. Whatever a player writes there, the examples follow it, and the statement
    is the program's own.
    """
    named, texts = request.named, request.texts
    if not named:
        named, texts = TEXT_IS_TRUE.format("the text"), (("the text", request.statement),)
    names = [name for name, _ in texts]
    lines = [f"{name.capitalize()}: {quoted(text)}\n" for name, text in texts]
    claims = [f"{' and '.join(names)} are {kind}." for kind in ("texts", "not texts") if names]
    if len(names) == 1:
        lines = [f"A text: {quoted(texts[0][1])}\n"]
        claims = [f"{names[0]} is {kind}." for kind in ("a text", "not a text")]
    return ["".join(lines) + TRUTH_PREAMBLE + quoted(each) for each in (named, *claims)]


def quoted(text: str) -> str:
    """A text in quotes on one line, otherwise as it is written: a model does not read escapes.

    >>> print(quoted('He said \\n\\x00 “no”, or "yes".'))
    "He said “no”, or 'yes'."
    """
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text)
    return '"' + " ".join(plain.replace('"', "'").split()) + '"'


def _margin(scores: Sequence[TokenScores | OversizeError]) -> float | OversizeError:
    """``scores`` of " true" and " false" after the statement, and after each claim."""
    bits = []
    for score in scores:
        if isinstance(score, OversizeError):
            return score
        bits.append(score.total)
    statement, *claims = map(sub, bits[::2], bits[1::2])
    return min(0.0, sum(claims) / max(1, len(claims))) - statement
