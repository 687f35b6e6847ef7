"""Language models: references to weights; the embedded model, its data and its training."""
