"""Scope growth: its schedules, their oracles on language models, and the candidates."""
