"""Two-player games as programs: run in a box, filtered, learned by self-play, played by models."""
