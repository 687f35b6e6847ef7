"""Causal language models as the judge and the local player both use them."""
