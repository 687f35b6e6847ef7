"""From plays to transfer values.

``plays``: the plays of a run and the policies that made them; ``intervals``: Student's and
Fieller's; ``transfer_values``: gains, C and V of one pair; ``transfer_matrix``: those of all pairs,
with bounds that hold together; ``transfer_graph``: its components (Def. 54); ``skills``: its
effective rank.
"""
