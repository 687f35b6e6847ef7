"""Scope growth: Algorithm 1, its oracle on language models, and its candidates."""
