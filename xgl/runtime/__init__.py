"""Playing: one game instance as a generator, many of them in lockstep, and what they ask for."""
