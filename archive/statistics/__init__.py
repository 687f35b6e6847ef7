"""Pure statistics, from plays to decisions, covers and measures (docs/specification.md).

Each module is named by what it computes, and imports only modules of lower lines:

* ``ratings``, ``programs``: of models on a measure or on programs;
* ``covers``, ``measure``, ``rounds``: covers of a scope, scores over games, repeated play;
* ``scripts``; ``replay``: beside scripts; decisions once more, also by another judge;
* ``race``; ``rule``: the questions about a candidate, their bounds, the verdict;
* ``matrix``; ``intervals``: all pairs of games; one pair, one mean or ratio.
"""
