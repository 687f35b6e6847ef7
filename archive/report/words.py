"""What the archive's words mean, for somebody who reads them for the first time."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "helps and is new": "teaches enough of its parent, and no game of the scope teaches it",
    "does not help its parent": "training on it improves play of its parent too little (C < α1)",
    "covered by the scope": "a game of the scope already teaches most of it (γ > 1 − α2)",
    "its gain is not about the map": "training improved play alike on every map: no skill",
    "not playable": "training on it did not improve play of the game itself",
    "own gain not confirmed": "its own gain was not seen again on fresh maps",
    "help to its parent not settled": "plays ran out before C lay clearly on one side of α1",
    "coverage not settled": "plays ran out before γ lay clearly on one side of 1 − α2",
    "another of its list was newer": "a rival from the same list was taken instead",
    "others of its list looked newer": "rivals of the same list had a smaller γ and went first",
    "never feasible": "no try of the untrained player satisfied the rules",
    "forfeit rate": "the untrained player broke the rules too often",
    "too long to learn": "its plays are so long that the budget pays for too few training steps",
    "constant score": "every play scores the same: nothing can be learned",
}
"""Reasons of decisions, found by how they begin."""

FATES: Mapping[str, str] = {
    "candidate": "went on to be measured",
    "invalid": "not a valid program",
    "seen": "already met in this run",
    "known": "already known to the sampler",
    "degenerate": "no move can change the reward",
    "too_long": "unrolls to too many steps",
    "infeasible": "its rules cannot be satisfied",
    "constant": "always scores the same",
    "ill_posed": "its best move depends on tiny probabilities",
    "unfinished": "the model stopped before the program was complete",
    "unsound": "the edit would have made a broken program",
}
"""Outcomes of proposals."""

STAGES: Mapping[str, str] = {
    "proposing": "inventing candidate programs",
    "calibration": "plays of the untrained player, which show whether a game is fit",
    "fine-tuning": "training one player on each candidate",
    "selection": "plays that measure what each training taught",
    "acceptance": "plays on fresh maps that confirm, or refute, the best candidates",
}
"""Stages of the search, in their order."""


def reason_told(reason: str) -> str:
    """The plain meaning of a decision's reason; empty for one that is not known here."""
    return next((told for start, told in REASONS.items() if reason.startswith(start)), "")


def reason_group(reason: str) -> str:
    """The reason without the numbers of one case."""
    return next((start for start in REASONS if reason.startswith(start)), reason)


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 game``, ``2 games``, ``1,200 games``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
