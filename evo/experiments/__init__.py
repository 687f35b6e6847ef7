"""Experiments beside scope growth."""
