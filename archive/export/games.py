"""The newest scope as game files, one for each (game, role), and its fine-tunes as adapter folders
of PEFT."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

from archive.errors import DamagedError, ExportError
from archive.export.folder import Files, Options, template
from archive.export.selection import choose, game_name
from archive.run import Run, read_settings
from archive.schema import ScopeRow, TaskId
from archive.text import plural
from xgl.errors import ConfigError
from xgl.escaping import code_span, comment, visible_lines
from xgl.files import may_use, read_json, remember
from xgl.language.canonical import own_metadata, read_metadata
from xgl.language.dialects import DIALECTS


def files(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """One game file for each member of the newest scope, or of its cover at η.

    Each file opens with comment lines: game id, role, scope, generation, gamma, parent and
    metadata, then a header with the metadata of its own. Raises DamagedError for a dialect that is
    not known.
    """
    scope_number, scope = run.newest_scope
    selection = choose(run, options).covers
    members = [member for member in scope if member.task_id in selection]
    by_id = run.games(member.game_id for member in members)
    contents: Files = {}
    for member in members:
        game = by_id[member.game_id]
        text = _header(member, scope_number, game) + visible_lines(game["code"])
        if (dialect := DIALECTS.get(game["dialect"])) is None:
            found, expected = f"dialect {game['dialect']!r}", " or ".join(DIALECTS)
            raise DamagedError(f"game {member.game_id}", found, expected)
        name = f"{game_name(member.task_id, by_id)}{dialect.suffix}"
        contents[name] = text.rstrip("\n") + "\n"
    return contents, [f"{plural(len(contents), 'game')} written to {{folder}}"]


def _header(member: ScopeRow, scope_number: int, game: Mapping[str, Any]) -> str:
    gamma = "none (initial scope)" if member.gamma is None else f"{member.gamma:.6g}"
    facts = {
        "game_id": member.game_id,
        "role": member.role,
        "scope": str(scope_number),
        "generation": str(member.generation),
        "gamma": gamma,
        "parent": member.parent_game_id or "none (initial scope)",
        "metadata": game["metadata_json"],
    }
    # A line break inside a value would end the comment and begin an instruction.
    head = [f"# {key}: {comment(value)}" for key, value in facts.items()]
    with suppress(ConfigError):  # the line above shows them as they are
        head += own_metadata(read_metadata(game["metadata_json"]))
    return "".join(f"{line}\n" for line in head)


_KEY = re.compile(r"base_model\.model\..*?\.(\d+)\..*?(\w+)\.lora_A\.weight")


def adapters(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """A folder for each fine-tune of the newest scope, or of its cover at η. Raises ExportError if
    no game of it was fine-tuned."""
    tasks = choose(run, options).covers
    stored = {*run.archive.adapters()}  # those of attempts that were given up are removed
    whole = [row for row in run.finetunes if row["state_hash"] is None]  # not those of a pause
    in_force = {policy_id for task in tasks for policy_id in run.policies.get(task, ())}
    own = [row for row in whole if row["finetune_id"] in in_force]
    finetunes = [row for row in own if row["adapter_hash"] in stored]
    if not finetunes:
        raise ExportError("found no adapter of the scope's games, expected a run that trained")
    player = _player(run)
    game_ids = {task_id.game_id for task_id in tasks}
    names = [f"{game_name(TaskId.of(row), game_ids)}-{row['replicate']}" for row in finetunes]
    contents: Files = {
        name: partial(_write, run, row["adapter_hash"], player)
        for name, row in zip(names, finetunes, strict=True)
    }
    model, first = player["model"], names[0]
    argument = quote(f"player=peft:{first}@{model}@{player['temperature']:g}")
    contents["README.md"] = template("adapters_readme.md").format(
        run_id=code_span(run.run_id),
        model=ascii(model),
        model_name=code_span(model),
        first=first,
        command=code_span(f"python -m evo.run +experiment=measure measure=MEASURE {argument}"),
    )
    missing = len(tasks) - len({TaskId.of(row) for row in finetunes})
    without = f"; {plural(missing, 'game')} without a fine-tune" if missing else ""
    return contents, [f"{plural(len(names), 'adapter')} written to {{folder}}{without}"]


def _player(run: Run) -> dict[str, Any]:
    try:
        player = read_settings(run.config_json)["player"]
        kinds: dict[str, Any] = dict.fromkeys(("lora_alpha", "temperature"), int | float)
        kinds |= {"model": str, "lora_rank": int}
        if all(isinstance(player[name], kind) for name, kind in kinds.items()):
            return {name: player[name] for name in kinds}
    except (KeyError, TypeError):
        pass
    raise ExportError(
        "the run has no adapters: found no player in its configuration, expected a run of a "
        "language model"
    )


def _write(run: Run, adapter_hash: str, player: Mapping[str, Any], folder: Path) -> None:
    adapter = run.archive.get_adapter(adapter_hash)
    config = json.dumps(adapter_config(adapter, player), indent=2) + "\n"
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(adapter)
    (folder / "adapter_config.json").write_text(config, "utf-8")
    if may_use(player["model"], run.config_json):
        remember(config)


def adapter_config(adapter: bytes, player: Mapping[str, Any]) -> dict[str, Any]:
    """PEFT's ``adapter_config.json`` of an archived adapter: the names of its tensors tell which
    layers it belongs to."""
    size = int.from_bytes(adapter[:8], "little")
    keys: list[str] = []
    with suppress(ValueError, TypeError, AttributeError):  # an adapter may be a stranger's
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
