"""Equilibrium ratings of models and tasks: pure functions of payoff tensors
(docs/explanation/ratings.md).

Each file is one step, in this order:

* ``normal_form``: games as payoff tensors, regrets, exploitability; equal actions merged into one,
  distances, kernel, the target of largest affinity entropy;
* ``preferences``: from scores on paired maps to king of the hill, and to Elo;
* ``equilibria``: the limiting logit equilibrium by continuation, the CCE nearest to the target;
* ``rating``: ratings, contributions and all that one call returns; bootstrap and cross-fit;
* ``paper``: the paper's closed-form examples, pure equilibria, risk dominance and simulations.

The paper is Liu et al., *Re-evaluating open-ended evaluation of large language models* (2025);
numbers in parentheses are its equations.
"""
