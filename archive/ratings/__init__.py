"""Equilibrium ratings of models and tasks: pure functions of payoff tensors
(docs/explanation/ratings.md).

Each file is one step, in this order:

* ``normal_form``: games as payoff tensors, regrets, exploitability; ``evaluation_games``: king of
  the hill and other games between models and tasks; ``clones``: equal actions merged into one;
* ``affinity``: distances of actions, kernel, affinity entropy and its maximiser, the target;
* ``logit_path``: the limiting logit equilibrium by continuation; ``correlated``: the CCE nearest to
  the target;
* ``rating``: ratings, contributions and all that one call returns; ``bradley_terry``: Elo;
* ``preferences``: from scores on paired maps; ``near_copies``: the same task on other maps;
  ``leaderboard``: models and tasks of a measure; ``uncertainty``: bootstrap and cross-fit;
* ``simulations``: the paper's simulations; ``examples``: its closed-form examples;
  ``structure``: pure equilibria and risk dominance.

The paper is Liu et al., *Re-evaluating open-ended evaluation of large language models* (2025);
numbers in parentheses are its equations.
"""
