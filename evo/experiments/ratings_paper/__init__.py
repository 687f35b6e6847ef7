"""The ratings paper's experiments on simulated models and tasks (docs/ratings.md)."""
