"""What the commands show, a module each: gathered once, then printed for people or programs."""
