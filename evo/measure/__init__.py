"""Measuring models on an exported Xent Measure (SPEC §4, §7)."""
