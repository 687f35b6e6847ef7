"""Games as the authors' released engine (wheel 0.5.0) plays them: what it lacks is said otherwise,
what cannot be said otherwise is refused by name (docs/measure.md)."""

from xgl.lowering.lower import Lowered, LoweringError, lower

__all__ = ["Lowered", "LoweringError", "lower"]
