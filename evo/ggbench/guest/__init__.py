"""What runs inside the box, beside the game: the standard library, numpy and gymnasium only."""
