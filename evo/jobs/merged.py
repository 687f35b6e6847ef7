"""Fine-tunes of a run as base models: the adapter is added to the weights of its base, once, in a
folder of the cache that any later run finds (paper §7.3.4)."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from archive import Archive, ArchiveError, RunEvent
from archive.run import read_settings
from archive.store.files import write_folder
from evo.config.models import PlayerConfig
from xgl.errors import ConfigError, ModelNotFoundError
from xgl.files import may_use, not_yours, user_path
from xgl.models.references import AdapterName, parse
from xgl.models.resolve import resolve
from xgl.models.smollm2 import cache_root


def adapter_of(name: AdapterName) -> tuple[str, bytes, PlayerConfig]:
    """SHA-256 and content of a fine-tune's adapter, and the player of its run.

    Raises :class:`ConfigError`, for a base model that only a stranger names too, and
    :class:`~archive.ArchiveError`.
    """
    run = user_path(name.run)
    with Archive.open(run) as archive:
        hashes = _adapter_hashes(archive, name.finetune)
        created_rows = [row for row in archive.rows("runs") if row["event"] == RunEvent.CREATED]
        if len(hashes) != 1 or not created_rows:
            raise ConfigError(
                f"{len(hashes)} fine-tunes of {run} begin with {name.finetune!r}, expected one"
            )
        digest, config_json = hashes.pop(), created_rows[-1]["config_json"]
        adapter = archive.get_adapter(digest)
    try:
        player = PlayerConfig(**read_settings(config_json)["player"])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{run} holds no settings of a player ({error})") from None
    if name.model not in ("", player.model):
        raise ConfigError(f"found @{name.model}, expected the base of {run}, {player.model}")
    if not may_use(player.model, config_json, name.model):
        way = f"add @{player.model} to the player's name"
        raise ConfigError(not_yours(run, f"the base model {player.model}", way))
    return digest, adapter, player


def _adapter_hashes(archive: Archive, beginning: str) -> set[str]:
    """Adapters of the curriculum of that name (and replicate: ``cover.1``), or else of the
    fine-tunes of which an id, the game's id or the adapter's SHA-256 begins so."""
    curricula = archive.rows("curricula")
    named = {
        row["adapter_hash"]
        for row in curricula
        if f"{row['curriculum']}.{row['replicate']}" in (beginning, f"{beginning}.0")
    }
    begin = set[str]()
    for row in (*archive.rows("finetunes"), *curricula):
        # a game means its whole fine-tune, not one that paused
        game_id = str(row.get("game_id", "")) if row.get("state_hash") is None else ""
        if any(i.startswith(beginning) for i in (row["finetune_id"], row["adapter_hash"], game_id)):
            begin.add(row["adapter_hash"])
    return named or begin


def pinned(reference: str, key: str) -> str:
    """A reference to a fine-tune with the whole path of its run and the SHA-256 of its adapter, so
    that it means the same wherever and whenever it is read; other references as they are.

    Raises :class:`~xgl.errors.ModelNotFoundError`, whose message begins with the ``key``.
    """
    name = parse(reference, key)
    if not isinstance(name, AdapterName):
        return reference
    try:
        digest, _, _ = _found(reference, name)
    except ModelNotFoundError as error:
        raise ModelNotFoundError(f"{key}: {error}") from None
    model = f"@{name.model}" if name.model else ""
    return f"adapter:{user_path(name.run).resolve()}:{digest}{model}"


def merged(reference: str) -> Path:
    """The folder of the base model of ``adapter:RUN:ID`` with this adapter in its weights, in
    float32; it is made where the cache has none yet.

    Raises :class:`~xgl.errors.ModelNotFoundError`.
    """
    try:
        name = parse(reference, "model")
    except ConfigError as error:
        raise ModelNotFoundError(f"{error}") from None
    assert isinstance(name, AdapterName)
    digest, adapter, player = _found(reference, name)
    base = resolve(player.model)
    scale = player.lora_alpha / player.lora_rank
    files = [(path.name, path.stat()) for path in sorted(base.iterdir()) if path.is_file()]
    content = [digest, scale, [(each, stat.st_size, stat.st_mtime_ns) for each, stat in files]]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    folder = cache_root() / "merged" / key
    if not folder.is_dir():
        try:
            write_folder(folder, lambda path: _write(path, adapter, player, base))
        except ArchiveError as error:
            if not folder.is_dir():  # by another process meanwhile
                raise ModelNotFoundError(f"model {reference!r}: {error}") from None
    return folder


def _found(reference: str, name: AdapterName) -> tuple[str, bytes, PlayerConfig]:
    try:
        return adapter_of(name)
    except (ConfigError, ArchiveError) as error:
        raise ModelNotFoundError(f"model {reference!r}: {error}") from None


def _write(folder: Path, adapter: bytes, player: PlayerConfig, base: Path) -> None:
    """The merged weights with the base's tokenizer and other files. Raises OSError."""
    from safetensors import SafetensorError  # what it raises where the disk is full

    from evo.jobs.lora import AdaptedModel
    from xgl.judge.loading import load_model
    from xgl.models.weights import dequantised, quiet

    adapted_model = AdaptedModel(load_model(player.model, "float32", "cpu"), player)
    adapted_model.merge(adapter)
    model: Any = dequantised(adapted_model.base.model)
    try:
        with quiet():
            model.save_pretrained(folder)
    except SafetensorError as error:
        raise OSError(f"{error}") from None
    for path in folder.glob("*.safetensors"):
        path.chmod(0o644)  # it is written for its writer alone
    for path in base.iterdir():
        is_other = ".safetensors" in path.name or path.suffix in (".bin", ".md")
        if path.is_file() and not is_other and not (folder / path.name).exists():
            shutil.copyfile(path, folder / path.name)
