"""The model of XGL that the sampler ``learned`` ships with."""
