"""Experiments on language models: scope growth and the transfer triplet."""
