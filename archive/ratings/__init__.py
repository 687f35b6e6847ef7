"""Equilibrium ratings of models and tasks: pure functions of payoff tensors
(docs/explanation/ratings.md), in this order: games (``normal_form``), scores as games and Elo
(``preferences``), ``equilibria``, the ``rating`` and its uncertainty; simulations of the ``paper``.

The paper is Liu et al., *Re-evaluating open-ended evaluation of large language models* (2025);
numbers in parentheses are its equations.
"""
