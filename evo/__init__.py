"""The search: scope growth on language models (Algorithm 1), and what it needs to run."""
