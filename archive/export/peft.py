"""Fine-tunes of a run as adapter folders of PEFT, one for each fine-tune of a selected game."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from archive.errors import ExportError
from archive.export.selection import choose, game_name
from archive.run import Run, read_settings
from archive.schema import TaskId
from archive.store.disk import require_free, write_folder
from xgl.escaping import code_span, python_string
from xgl.own_files import may_use, remember
from xgl.paths import user_path
from xgl.reading import read_json

_KEY = re.compile(r"base_model\.model\..*?\.?layers\.(\d+)\..*?(\w+)\.lora_A\.weight")
_README = """# Adapters of run {run_id}

LoRA adapters of the base model {model_name}, one folder a fine-tune: `GAME-ROLE-REPLICATE`.

```python
from peft import PeftModel
from xgl.models.resolve import load

model, tokenizer = load({model})
model = PeftModel.from_pretrained(model, "{first}")
```

{command} measures one.
"""


@dataclass(frozen=True)
class AdapterExport:
    """Folders written, and selected games without a fine-tune."""

    names: tuple[str, ...]
    without: int


def export_peft(run: Run, folder: str | Path, eta: float | None = None) -> AdapterExport:
    """Writes a folder for each fine-tune of the newest scope, or of its cover at `eta`.

    Raises what :func:`archive.export.xent.export_xent` raises of folder, run and η; ExportError
    if no game of it was fine-tuned.
    """
    folder = user_path(folder)
    require_free(folder)
    tasks = choose(run, eta).covers
    finetunes = [row for row in run.finetunes if TaskId.of(row) in tasks]
    if not finetunes:
        raise ExportError("found no fine-tune of the scope's games, expected a run that trained")
    player = _player(run)
    game_ids = {task_id.game_id for task_id in tasks}
    names = [f"{game_name(TaskId.of(row), game_ids)}-{row['replicate']}" for row in finetunes]

    def fill(aside: Path) -> None:
        for name, row in zip(names, finetunes, strict=True):
            _write(aside / name, run.archive.get_adapter(row["adapter_hash"]), player)
        model, first = player["model"], names[0]
        argument = quote(f"player=peft:{first}@{model}")
        text = _README.format(
            run_id=code_span(run.run_id),
            model=python_string(model),
            model_name=code_span(model),
            first=first,
            command=code_span(f"python -m evo.run +experiment=measure measure=MEASURE {argument}"),
        )
        (aside / "README.md").write_text(text, encoding="utf-8")

    write_folder(folder, fill)
    if may_use(player["model"], run.config_json):
        for name in names:
            remember((folder / name / "adapter_config.json").read_bytes())
    finetuned_tasks = {(row["game_id"], row["role"]) for row in finetunes}
    return AdapterExport(tuple(names), len(tasks) - len(finetuned_tasks))


def _player(run: Run) -> dict[str, Any]:
    """The player's settings in the run's configuration."""
    try:
        player = read_settings(run.config_json)["player"]
        return {name: player[name] for name in ("model", "lora_rank", "lora_alpha")}
    except (KeyError, TypeError):
        raise ExportError(
            "the run has no adapters: found no player in its configuration, expected a run of a "
            "language model"
        ) from None


def _write(folder: Path, adapter: bytes, player: Mapping[str, Any]) -> None:
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(adapter)
    config = adapter_config(adapter, player)
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n", "utf-8")


def adapter_config(adapter: bytes, player: Mapping[str, Any]) -> dict[str, Any]:
    """PEFT's ``adapter_config.json`` of an archived adapter: the names of its tensors tell which
    layers it belongs to."""
    size = int.from_bytes(adapter[:8], "little")
    keys = [key for key in read_json(adapter[8 : 8 + size]) if key.endswith("lora_A.weight")]
    matches = [match for key in keys if (match := _KEY.fullmatch(key))]
    if len(matches) != len(keys) or not keys:
        raise ExportError("an adapter holds tensors that are no LoRA of blocks, expected such ones")
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": player["model"],
        "r": player["lora_rank"],
        "lora_alpha": player["lora_alpha"],
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": sorted({match[2] for match in matches}),
        "layers_to_transform": sorted({int(match[1]) for match in matches}),
        "inference_mode": True,
    }
