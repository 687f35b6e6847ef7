"""A transformers causal LM as judge: batched, in bits, per token (docs/specification.md,
"Scoring")."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from xgl.errors import JudgeError, OversizeError
from xgl.judge.engine import EngineSettings, ScoringEngine
from xgl.judge.prefix_tree import Ids, Row
from xgl.judge.score_memory import KNOWN_BYTES, TOKEN_BYTES, Bounded
from xgl.language.dialects import Scoring
from xgl.lm.language_model import PLAIN, LanguageModel
from xgl.runtime.predicates import decide
from xgl.runtime.requests import ScoreRequest, TokenScores, TruthRequest

TRUTH_PREAMBLE = (
    "Each quoted statement is followed by whether it is true or false.\n"
    '"Two and two are four." true\n'
    '"The sun is a kind of fish." false\n'
    '"A short word is shorter than a long word." true\n'
    '"Winter is warmer than summer." false\n'
)
_TRUTH_SCORING = Scoring(bos=True, first_token=True)


class TransformerJudge:
    """Scores strings with ``lm`` by way of a :class:`~xgl.judge.engine.ScoringEngine`."""

    def __init__(self, lm: LanguageModel, settings: EngineSettings | None = None) -> None:
        self.lm = lm
        self._known: Bounded[Ids] = Bounded(KNOWN_BYTES, lambda ids: TOKEN_BYTES * len(ids))
        preamble = (lm.bos, *self._encode(TRUTH_PREAMBLE))
        self.engine = ScoringEngine(lm, settings, [preamble[:-1]])  # its last may join the quote

    def _encode(self, text: str) -> Ids:
        ids = self._known.get(text)
        if ids is None:
            ids = self.lm.encode(text)
            self._known.put(text, ids)
        return ids

    # -- the Judge protocol ----------------------------------------------------------------

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        """Per-token bits of each request; an :class:`OversizeError` where it does not fit.

        Raises :class:`JudgeError` naming the request whose logits are not finite.
        """
        rows = [self._row(request) for request in requests]
        fitting = [row for row in rows if row and len(row.ids) <= self.lm.window]
        answers = iter(self.engine.bits(fitting))
        results: list[TokenScores | OversizeError] = []
        for request, row in zip(requests, rows, strict=True):
            if row is None:
                results.append(TokenScores(()))
            elif len(row.ids) > self.lm.window:
                results.append(OversizeError(f"{len(row.ids)} tokens do not fit the judge"))
            else:
                results.append(_checked(request, next(answers)))
        return results

    def forget(self) -> None:
        """Begin anew, without remembered scores: see :meth:`ScoringEngine.forget`."""
        self.engine.forget()

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        """Plain predicates by their function, all other statements by the model."""
        asked = [request for request in requests if request.predicate is None]
        judged = dict(zip(asked, self._judged(asked), strict=True))
        return [
            judged[request] if request.predicate is None else decide(request.predicate, self.count)
            for request in requests
        ]

    @property
    def uniform_bits(self) -> float:
        """Bits of a token under a uniform guess: −log₂ ε for ε = 1/|V| (§4.1.2)."""
        return math.log2(self.lm.model.config.vocab_size)

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def truncate(self, text: str, max_len: int) -> str:
        """The longest prefix that re-tokenises to at most ``max_len`` tokens."""
        if self.count(text) <= max_len:
            return text
        encoding = self.lm.tokenizer(text, return_offsets_mapping=True, **PLAIN)
        # Past the word of the first token too many no prefix fits; inside it a longer one may.
        words = encoding.word_ids()
        beyond = len(words) - words[::-1].index(words[max_len])
        end = encoding["offset_mapping"][beyond - 1][1]
        while self.count(text[:end]) > max_len:
            end -= 1
        return text[:end]

    def first_tokens(self, text: str, tokens: int) -> str:
        """The text of the first ``tokens`` tokens; ``text`` itself where it has no more."""
        ids = self._encode(text)
        return text if len(ids) <= tokens else str(self.lm.tokenizer.decode(ids[:tokens]))

    # -- rows ------------------------------------------------------------------------------

    def _row(self, request: ScoreRequest) -> Row | None:
        """The request's tokens; None where none of them is scored."""
        text = self._encode(request.text) if request.text else ()
        before: tuple[int, ...] = (self.lm.bos,) if request.scoring.bos else ()
        for part in request.context:
            before += self._encode(part)
        skipped = 0 if request.scoring.first_token and before else 1
        counted = len(text) - skipped
        return Row(before + text, counted) if counted > 0 else None

    def _judged(self, asked: Sequence[TruthRequest]) -> list[bool | OversizeError]:
        """xent(" true" | preamble + quoted statement) < xent(" false" | the same)."""
        pairs = [
            ScoreRequest(word, (TRUTH_PREAMBLE + json.dumps(request.statement),), _TRUTH_SCORING)
            for request in asked
            for word in (" true", " false")
        ]
        scores = self.score(pairs)
        verdicts: list[bool | OversizeError] = []
        for true, false in zip(scores[::2], scores[1::2], strict=True):
            if isinstance(true, OversizeError) or isinstance(false, OversizeError):
                verdicts.append(OversizeError("a statement does not fit the judge"))
            else:
                verdicts.append(true.total < false.total)
        return verdicts


def _checked(request: ScoreRequest, bits: tuple[float, ...]) -> TokenScores:
    if not all(map(math.isfinite, bits)):
        before = "".join(request.context)[-80:]
        after = f" after {before!r}" if before else ""
        raise JudgeError(f"the judge's logits are not finite for {request.text[:80]!r}{after}")
    return TokenScores(bits)
