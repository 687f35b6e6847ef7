"""Covers of a scope.

``best_cover``: the best η-cover of a matrix; ``missing_values``: how it depends on missing values;
``scope_cover``: the cover of a run's scope; ``xent_measure``: the measure over a cover (Def. 43).
"""
