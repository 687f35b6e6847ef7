"""The code inside the box, next to the game: only the standard library, numpy and gymnasium."""
