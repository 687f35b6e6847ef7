"""Experiments on finished growths.

Held-out programs: ``growth_candidates``, ``held_out_plays``, ``captured_gains``, ``choice_tests``,
``training_repeats``, and ``held_out``, which puts them together; ``curricula``: players trained on
several games; ``universality`` and ``rank_agreement``: whether two measures rank models alike.
"""
