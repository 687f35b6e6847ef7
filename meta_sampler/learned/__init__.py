"""The sampler ``learned``: a small language model of XGL, conditioned on a parent."""
