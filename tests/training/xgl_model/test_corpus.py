"""What the model of XGL is trained on."""

from __future__ import annotations

import xgl
from training.xgl_model.corpus import LONGEST, pairs, sensible


def test_training_pairs_are_sensible_and_follow_from_the_seed() -> None:
    sample_pairs = list(pairs(40, 5, 8))
    assert sample_pairs == list(pairs(40, 5, 8))
    assert len(sample_pairs) == 40
    for pair in sample_pairs:
        child = next(g for d in ("xent", "paper") if (g := _game_of(pair.child, d)))
        assert len(pair.child) <= LONGEST
        assert pair.child != pair.parent
        assert not xgl.analyse(child.program).degenerate
    roots = [
        g
        for pair in sample_pairs[:: len(sample_pairs) // 8]
        if (g := _game_of(pair.parent, "xent"))
    ]
    assert roots
    assert any(map(sensible, roots))


def _game_of(text: str, dialect: str) -> xgl.Game | None:
    try:
        return xgl.game(xgl.parse(text, dialect))
    except xgl.ProgramError:
        return None
