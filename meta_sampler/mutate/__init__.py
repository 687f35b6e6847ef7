"""The sampler ``mutate``: operators on programs, and how they are drawn."""
