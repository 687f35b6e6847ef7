"""A run for those who work in Python: tables as data frames, figures that notebooks show."""
