"""Language models: references to weights; the embedded model and its stories."""
