"""Covers of a scope.

``best_cover``: the best η-cover of a matrix; ``scope_cover``: the cover of a run's scope;
``xent_measure``: the measure over a cover (Def. 43).
"""
