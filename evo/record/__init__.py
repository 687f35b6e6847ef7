"""The record of a run: its rows, its folder and its cost."""
