"""Search for the best moves of a game with access to the judge (docs/specification.md,
"Ceilings")."""
