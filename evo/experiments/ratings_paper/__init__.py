"""The ratings paper's experiments on simulated models and tasks (docs/explanation/ratings.md)."""
