"""Scores of models on a measure.

``repeated_play``: arms, thresholds and normalised scores (Def. 33, 42); ``ceilings``: the best
known score of each map; ``paired_scores``: scores of models on the same maps; ``measure_ratings``:
models and games rated together; ``program_games`` and ``win_rates``: games that are programs;
``rank_agreement``: whether two families of games rank models alike; ``curricula``: gains of players
that were trained on several games.
"""
