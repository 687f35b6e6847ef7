"""Pure statistics, from plays to decisions, covers and measures (docs/specification.md).

Four rooms; each imports only the rooms above it in this list:

* ``values``: intervals, gains, C and V of one pair or of all pairs;
* ``decisions``: the questions about a candidate, the verdict, and how both are repeated;
* ``covers``: the best η-cover of a scope, and the measure over its games;
* ``measures``: scores of models on a measure: rounds, ratings, the best known scores.
"""
