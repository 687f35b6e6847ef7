"""The code inside the box, next to the game: it needs only the standard library, numpy and
gymnasium."""
