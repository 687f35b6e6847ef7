"""A transformers causal LM as judge: batched, in bits, per token (SPEC §2)."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from xgl.dialects import Scoring
from xgl.errors import JudgeError, OversizeError
from xgl.lm import LanguageModel, length_mask, padded, target_logprobs
from xgl.requests import ScoreRequest, TokenScores, TruthRequest
from xgl.truth import decide

BITS = 1.0 / math.log(2.0)

TRUTH_PREAMBLE = (
    "Each quoted statement is followed by whether it is true or false.\n"
    '"Two and two are four." true\n'
    '"The sun is a kind of fish." false\n'
    '"A short word is shorter than a long word." true\n'
    '"Winter is warmer than summer." false\n'
)
_TRUTH_SCORING = Scoring(bos=True, first_token=True)


@dataclass(frozen=True)
class _Row:
    """Tokens of one request; the last ``counted`` of them are scored."""

    ids: tuple[int, ...]
    counted: int


class TransformerJudge:
    """Scores strings with ``lm``.

    ``batch_tokens`` bounds a forward's padded tokens. Requests are sorted by length, so batches
    depend on the requests alone, never on the machine's load. The last ``remembered`` scores
    are kept until :meth:`forget`: moves and their permutations ask again for what maps cost.
    """

    def __init__(
        self, lm: LanguageModel, batch_tokens: int = 8192, remembered: int = 20_000
    ) -> None:
        self.lm = lm
        self.batch_tokens = batch_tokens
        self.remembered = remembered
        self.tokens = self.hits = 0
        self._memory: OrderedDict[_Row, list[float]] = OrderedDict()
        self._encode = lru_cache(maxsize=65536)(lm.encode)

    # -- the Judge protocol ----------------------------------------------------------------

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]:
        """Per-token bits of each request; an :class:`OversizeError` where it does not fit.

        Raises :class:`JudgeError` naming the request whose logits are not finite.
        """
        rows = [self._row(request) for request in requests]
        results: list[TokenScores | OversizeError] = [TokenScores(())] * len(requests)
        open_rows = []
        for index, row in enumerate(rows):
            if len(row.ids) > self.lm.window:
                results[index] = OversizeError(f"{len(row.ids)} tokens do not fit the judge")
            elif row.counted:
                open_rows.append(index)
        open_rows.sort(key=lambda index: (len(rows[index].ids), rows[index].ids))
        new = list(dict.fromkeys(rows[i] for i in open_rows if rows[i] not in self._memory))
        known = {rows[i]: self._memory[rows[i]] for i in open_rows if rows[i] in self._memory}
        self.hits += len(known)
        for batch in self._batches(new):
            known.update(zip(batch, self._bits(batch), strict=True))
        for index in open_rows:
            results[index] = self._checked(requests[index], known[rows[index]])
        self._remember(known)
        return results

    def forget(self) -> None:
        """Drop remembered scores. They shape batches and so the last bits of new ones: what must
        not hang on earlier work begins with this."""
        self._memory.clear()

    def _remember(self, scores: dict[_Row, list[float]]) -> None:
        for row, bits in scores.items():
            self._memory[row] = bits
            self._memory.move_to_end(row)
        while len(self._memory) > self.remembered:
            self._memory.popitem(last=False)

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]:
        """Plain predicates by their function, all other statements by the model."""
        asked = [request for request in requests if request.predicate is None]
        judged = dict(zip(asked, self._judged(asked), strict=True))
        return [
            judged[request] if request.predicate is None else decide(request.predicate, self.count)
            for request in requests
        ]

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def truncate(self, text: str, max_len: int) -> str:
        """The longest prefix that re-tokenises to at most ``max_len`` tokens."""
        if self.count(text) <= max_len:
            return text
        encoding = self.lm.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
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

    # -- rows and batches ------------------------------------------------------------------

    def _row(self, request: ScoreRequest) -> _Row:
        text = self._encode(request.text) if request.text else ()
        before: tuple[int, ...] = (self.lm.bos,) if request.scoring.bos else ()
        for part in request.context:
            before += self._encode(part)
        skipped = 0 if request.scoring.first_token and before else 1
        return _Row(before + text, max(0, len(text) - skipped))

    def _batches(self, rows: list[_Row]) -> list[list[_Row]]:
        batches: list[list[_Row]] = []
        for row in rows:
            if not batches or (len(batches[-1]) + 1) * len(row.ids) > self.batch_tokens:
                batches.append([])
            batches[-1].append(row)
        return batches

    @torch.inference_mode()
    def _bits(self, rows: Sequence[_Row]) -> list[list[float]]:
        """Bits of each row's counted tokens, from one forward."""
        ids, lengths = padded([row.ids for row in rows], self.lm.device)
        mask = length_mask(lengths, ids.shape[1])
        self.tokens += int(lengths.sum())
        hidden = self.lm.backbone(input_ids=ids, attention_mask=mask, use_cache=False)
        counts = [row.counted for row in rows]
        where = [
            (index, position)
            for index, row in enumerate(rows)
            for position in range(len(row.ids) - row.counted, len(row.ids))
        ]
        row_index, position = torch.tensor(where, device=self.lm.device).T
        states = hidden.last_hidden_state[row_index, position - 1]
        bits = -BITS * target_logprobs(self.lm, states, ids[row_index, position])
        return [part.tolist() for part in bits.cpu().split(counts)]

    def _checked(self, request: ScoreRequest, bits: list[float]) -> TokenScores:
        if not all(map(math.isfinite, bits)):
            raise JudgeError(f"the judge's logits are not finite for {request.text[:80]!r}")
        return TokenScores(tuple(bits))

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
