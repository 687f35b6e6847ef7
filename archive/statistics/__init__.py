"""Pure statistics, from plays to decisions, covers and measures (docs/specification.md).

Each file is one step, in this order:

* ``plays``: the plays of a run and the policies that made them; ``transfer_values``: gains, C and
  V of one pair; ``transfer_matrix``: those of all pairs, with bounds that hold together;
* ``intervals``: Student's and Fieller's; ``looks``: the error that each look of a race may spend;
* ``candidate_bounds``: bounds of a candidate's own gain, help and γ; ``race``: which of them are
  needed next; ``decision_rule``: γ, thresholds and the verdict; ``calibration``: refusals before
  any fine-tune; ``decision_cases`` and ``replay``: decisions repeated from an archive;
* ``covers``: the best η-cover of a matrix; ``missing_values``: how the cover depends on missing
  values; ``scope_cover``: the cover of a run's scope; ``transfer_graph``: components (Def. 54);
* ``repeated_play``: arms, thresholds and normalised scores (Def. 33, 42); ``xent_measure``: the
  measure over a cover (Def. 43);
* ``paired_scores``: scores of models on the same maps; ``measure_ratings``: models and games rated
  together.
"""
