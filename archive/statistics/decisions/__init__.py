"""From plays to the verdict on a candidate.

``calibration``: refusals before any fine-tune; ``looks``: the error that each look of a race may
spend; ``candidate_bounds``: bounds of its own gain, help and γ; ``race``: which of them are needed
next; ``decision_rule``: thresholds and the verdict; ``scripts``: what was learned beyond scripted
players; ``decision_cases`` and ``replay``: decisions repeated from an archive; ``second_judge``:
under another judge.
"""
