"""The two dialects of XGL as data: one parser and one machine read these fields
(docs/specification.md, "Dialects")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Scoring(NamedTuple):
    """Rules by which a judge scores a string's tokens."""

    bos: bool
    """Whether the model's BOS token comes before everything."""
    first_token: bool
    """Whether the first token of the scored string counts."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything in which the paper's language and the authors' released engine differ; usual is
    what the paper says."""

    name: str
    suffix: str
    scoring: Scoring
    cat_space: bool = True
    """``+`` sandwiches a space."""
    parallel_assign: bool = False
    """``assign`` evaluates all its expressions before it stores any."""
    story_arguments: bool = True
    """``story`` uses its argument."""
    env_rewarded: bool = False
    """``env`` keeps the rewards that a program gives it."""
    flags_at_start: bool = True
    """A flag that was never placed is at line 1; else a replay of it is an error."""
    failures_per_line: bool = False
    """Failed ensures are counted for each line and forgotten when it passes."""
    flag_order: bool = True
    """flag_1 must not be placed after flag_2."""
    early_ensure: bool = True
    """An ensure before any elicit is allowed (it must hold); else it is an error."""
    stored_prefix: bool = False
    """``s | t`` is a value: a string that carries its prefix; else it is allowed only in xents."""
    aliases: bool = False
    """A register by itself, right of = or in a list, is read when it is used, not before."""
    python_conditions: bool = False
    """``==``, ``!=``, ``in``, ``and``, ``or``, ``not`` and fractional bounds."""
    live_reveal: bool = False
    """A register once revealed is seen from then on whenever it changes."""
    cut_at_token: bool = False
    """A move is cut to its first tokens; else to the longest prefix that re-tokenises to that
    number of tokens."""
    respelled_words: bool = True
    """Words are compared however they are spelled (``xgl.runtime.predicates``); else in lower case
    without ASCII punctuation."""


PAPER = Dialect("paper", ".xgl", Scoring(bos=True, first_token=True))
XENT = Dialect(
    "xent",
    ".xent",
    Scoring(bos=False, first_token=False),
    cat_space=False,
    parallel_assign=True,
    story_arguments=False,
    env_rewarded=True,
    flags_at_start=False,
    failures_per_line=True,
    flag_order=False,
    early_ensure=False,
    stored_prefix=True,
    aliases=True,
    python_conditions=True,
    live_reveal=True,
    cut_at_token=True,
    respelled_words=False,
)

DIALECTS = {dialect.name: dialect for dialect in (PAPER, XENT)}
BY_SUFFIX = {dialect.suffix: dialect for dialect in DIALECTS.values()}
