"""The sampler ``chat``: a model behind an OpenAI-compatible endpoint invents games."""
