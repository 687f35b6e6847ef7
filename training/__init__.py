"""Training of the models that the packages ship: for developers, from a checkout."""
