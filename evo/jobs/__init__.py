"""Work on models: fine-tunes and evaluations, and the workers that do them."""
