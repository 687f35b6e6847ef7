"""A model weaker than the embedded one: its first blocks alone."""

from __future__ import annotations

from pathlib import Path

from xgl.models import resolve


def weak_model(folder: Path, blocks: int = 2) -> Path:
    """The embedded model without its last blocks, saved in a folder."""
    model, tokenizer = resolve.load("embedded")
    model.model.layers = model.model.layers[:blocks]
    model.config.num_hidden_layers = blocks
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:blocks]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
