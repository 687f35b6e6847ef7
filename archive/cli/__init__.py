"""The commands of ``python -m archive``: a table of them, and a function for each."""
