"""Checks of a candidate that every sampler makes before it proposes it."""
