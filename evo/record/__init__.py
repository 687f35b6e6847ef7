"""What a run has done: its rows, its folder and what it has spent."""
