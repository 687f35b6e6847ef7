"""What ``evo.run`` can run, one module or package for each experiment; ``model_run`` is the common
part of those on language models."""
