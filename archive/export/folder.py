"""What may be exported, how it is asked for, and one writer of folders for all formats.

The run's judge goes into it as weights, or is loaded to compare scores. Torch is imported only
when a judge is loaded: the archive itself does not need it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.run import Run, read_settings
from archive.store.files import require_free, write_folder
from xgl.escaping import json_text
from xgl.files import user_path
from xgl.models.references import is_server
from xgl.models.resolve import resolve
from xgl.models.weights import json_object

FORMATS: Mapping[str, str] = {
    "xgl": "games.files",
    "xent": "xent.contents",
    "inspect": "xent.contents",
    "dataset": "training.prompts",
    "verifiers": "training.environment",
    "sft": "training.moves",
    "dpo": "training.moves",
    "peft": "games.adapters",
}
"""Module and function of each format, in the order of the choices of ``--format``. The function,
of ``(run, folder, options)``, gives the :data:`Files` and what to tell the user."""
ROWS = 256
"""Most maps of a game in each split of rows to train on, by default."""

_MEASURES = ("xent", "inspect")
_ONLY = dict.fromkeys(
    ("playable", "discriminating", "allow_inexact", "with_judge", "scores"), _MEASURES
) | {"maps": (*_MEASURES, "dataset", "verifiers", "sft", "dpo")}
"""The formats of the options that have no effect in others."""

Files = dict[str, str | Callable[[Path], object]]
"""Text or what writes it, by the path in the folder, in the order of writing."""


@dataclass(frozen=True)
class Options:
    """``eta``: of the cover (None: the whole scope); ``maps``: most maps of a game (None: as usual
    for the format); ``judge``: the run's judge, to be named where another user began the run.

    Of a measure: ``with_judge``: weights of any size in the folder; ``scores``:
    load the judge and score the best known moves; ``playable``: number of games drawn from all
    playable ones instead of a cover; ``discriminating``: the tolerance of the fewest games that
    tell a measured run's players apart (None: all its games).
    """

    format: str = "xgl"
    eta: float | None = None
    maps: int | None = None
    judge: str | None = None
    skip_unplayable: bool = False
    allow_inexact: bool = False
    with_judge: bool = False
    scores: bool = True
    playable: int | None = None
    discriminating: float | None = None


def export(run: Run, folder: str | Path, options: Options) -> list[str]:
    """Writes `folder`, complete or not at all; returns what to tell the user, in lines.

    Raises WriteError when `folder` is in use or cannot be written, LookupFailedError when run,
    scope or game is not archived, CoverError for an η out of reach, ModelNotFoundError for a judge
    that is not to be had, ExportError for what the format cannot hold: a game that the authors'
    engine cannot play, no rows.
    """
    path = user_path(folder)
    require_free(path)
    given = [n for n in ("playable", "discriminating", "eta") if getattr(options, n) is not None]
    if len(given) > 1:
        raise ExportError(f"found --{' and --'.join(given)}, expected one way to choose games")
    if options.skip_unplayable and options.eta is None:
        raise ExportError("--skip-unplayable: found no --eta, expected the η of a cover")
    for name, formats in _ONLY.items():
        if getattr(options, name) != getattr(Options(), name) and options.format not in formats:
            flag = "no-scores" if name == "scores" else name.replace("_", "-")
            found = f"--{flag}: found --format {options.format}, where it has no effect"
            raise ExportError(f"{found}, expected {' or '.join(formats)}")
    if options.format in _MEASURES and options.maps == 1:
        raise ExportError("--maps: found 1, expected 2 or more for a measure, which has a control")
    module, name = FORMATS[options.format].split(".")
    contents = getattr(import_module(f"archive.export.{module}"), name)
    parts, (first, *more) = contents(run, path, options)
    write_folder(path, lambda aside: _write(aside, parts))
    return [first.format(folder=folder), *more]


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode())


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json_text(row)}\n" for row in rows)


def template(name: str) -> str:
    """The text of a file of an export, with its facts in braces."""
    return files("archive.export").joinpath("templates", f"{name}.txt").read_text("utf-8")


FOLDER = "judge"
SMALL = 64 << 20
"""Most bytes of weights that go into the folder by default."""
_COPIED = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json"),
    *("merges.txt", "generation_config.json", "LICENSE", "*.safetensors.index.json"),
)


def is_small(judge: str) -> bool:
    """Whether the weights of a judge, which is not on a server, go into the folder by default."""
    if is_server(judge):
        return False
    weights = resolve(judge).glob("*.safetensors")
    return 0 < sum(path.stat().st_size for path in weights) <= SMALL


def judge_of(config_json: str) -> str:
    """The judge that a run's configuration names. Raises ExportError if it names none."""
    settings = read_settings(config_json)
    judge = settings.get("judge", {"model": settings.get("judge_model")})  # the latter of a measure
    reference = judge.get("model") if isinstance(judge, dict) else None
    if not isinstance(reference, str):
        found = "the run has no judge: found no judge.model in its configuration"
        raise ExportError(f"{found}, expected a run of a language model")
    return reference


def reference_of(run: Run, named: str | None) -> str:
    """The judge that a run's configuration names, for code that loads it; the embedded model if it
    names none. Raises ExportError for one that only a stranger names, not the user too."""
    try:
        reference = judge_of(run.config_json)
    except ExportError:
        return "embedded"
    if refusal := run.judge_refusal(reference, named):
        raise ExportError(refusal)
    return reference


def copy(judge: str, folder: Path) -> None:
    """The judge as a folder that the authors' package loads: float32, and configured for older
    and newer versions of transformers alike. Raises OSError."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file, save_file

    source = resolve(judge)
    folder.mkdir()
    for path in (path for pattern in _COPIED for path in source.glob(pattern)):
        shutil.copyfile(path, folder / path.name)
    for path in sorted(source.glob("*.safetensors")):
        tensors = {name: tensor.to(torch.float32) for name, tensor in load_file(path).items()}
        try:
            save_file(tensors, folder / path.name, metadata={"format": "pt"})
        except SafetensorError as error:  # its own, also where the disk is full
            raise OSError(f"{path.name}: {error}") from None
        (folder / path.name).chmod(0o644)  # it is written for its writer alone
    for name in ("config.json", "tokenizer_config.json"):
        if (source / name).is_file():
            try:
                config = json_object(source / name)
            except ValueError as error:
                raise ExportError(f"--with-judge: {error}") from None
            # torch_dtype, rope_theta and the tokenizer's class are for transformers before 5
            if name == "config.json":
                config |= {"dtype": "float32", "torch_dtype": "float32"}
            elif config.get("tokenizer_class") == "TokenizersBackend":
                config["tokenizer_class"] = "PreTrainedTokenizerFast"
            rotary = config.get("rope_parameters")
            if isinstance(rotary, dict) and "rope_theta" in rotary:
                config["rope_theta"] = rotary["rope_theta"]
                if rotary.get("rope_type", "default") != "default":
                    config["rope_scaling"] = {k: v for k, v in rotary.items() if k != "rope_theta"}
            (folder / name).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
