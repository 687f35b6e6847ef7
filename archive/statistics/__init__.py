"""Pure functions from score rows to gains, transfer values, intervals and decisions."""
