"""Adapter folders of PEFT: LoRAs that were trained elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from peft import PeftModel

from xgl.errors import ConfigError
from xgl.lm.language_model import LanguageModel

CONFIG = "adapter_config.json"


def peft_base(folder: Path) -> str:
    """The base model that an adapter folder names. Raises :class:`ConfigError`."""
    base = _config(folder).get("base_model_name_or_path")
    if not base:
        raise ConfigError(
            f"players: {folder / CONFIG} names no base model, expected peft:{folder}@MODEL"
        )
    return str(base)


def with_peft_folder(base: LanguageModel, folder: Path) -> LanguageModel:
    """``base`` with the adapter put into its layers, not merged; the base model is changed in
    place. Raises :class:`ConfigError` for what is no LoRA of this model."""
    _config(folder)
    try:
        adapted = PeftModel.from_pretrained(base.model, str(folder))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"players: {folder} does not load on its base model: {reason}") from error
    adapted.requires_grad_(False)
    return replace(base, model=adapted.get_base_model().eval())


def _config(folder: Path) -> dict[str, Any]:
    try:
        config: dict[str, Any] = json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"players: {folder} is no adapter folder ({type(error).__name__} at {CONFIG}), "
            "expected one that PEFT saved"
        ) from None
    if config.get("peft_type") != "LORA":
        raise ConfigError(
            f"players: {folder} holds {config.get('peft_type')!r}, expected an adapter of type LORA"
        )
    return config
