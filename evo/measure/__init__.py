"""Measuring models on an exported Xent Measure (Def. 42, 43)."""
