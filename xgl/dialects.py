"""The two dialects of XGL as data: one parser and one machine read these fields (SPEC §1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a judge counts a string's tokens."""

    bos: bool
    """Whether the model's BOS token stands before everything."""
    first_token: bool
    """Whether the first token of the scored string counts."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Everything in which the paper's language and the authors' released engine differ."""

    name: str
    suffix: str
    scoring: Scoring
    cat_space: bool
    """``+`` sandwiches a space."""
    parallel_assign: bool
    """``assign`` evaluates all its expressions before it stores any."""
    story_arguments: bool
    """``story`` heeds its argument."""
    env_rewarded: bool
    """``env`` keeps the rewards that a program gives it."""
    flags_at_start: bool
    """A flag that was never placed is at line 1; else a replay of it is an error."""
    failures_per_line: bool
    """Failed ensures are counted for each line and forgotten when it passes."""


PAPER = Dialect(
    name="paper",
    suffix=".xgl",
    scoring=Scoring(bos=True, first_token=True),
    cat_space=True,
    parallel_assign=False,
    story_arguments=True,
    env_rewarded=False,
    flags_at_start=True,
    failures_per_line=False,
)

XENT = Dialect(
    name="xent",
    suffix=".xent",
    scoring=Scoring(bos=False, first_token=False),
    cat_space=False,
    parallel_assign=True,
    story_arguments=False,
    env_rewarded=True,
    flags_at_start=False,
    failures_per_line=True,
)

DIALECTS = {dialect.name: dialect for dialect in (PAPER, XENT)}
BY_SUFFIX = {dialect.suffix: dialect for dialect in DIALECTS.values()}
