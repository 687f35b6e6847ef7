"""Games rewritten for the authors' released engine (wheel 0.5.0). What it lacks is expressed in
other ways; a game for which this is impossible is refused with the reason
(docs/how-to/measure.md)."""

from xgl.lowering.passes import LoweredProgram, LoweringError, lower

__all__ = ["LoweredProgram", "LoweringError", "lower"]
