"""Static facts of programs: checks, bounds, distances and rules in plain English; no model runs."""
