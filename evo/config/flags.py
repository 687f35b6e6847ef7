"""Words of a command line that are no settings: Hydra's flags, as its users type them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from xgl.errors import ConfigError, excerpt
from xgl.paths import user_path

_EXPECTED = "expected key=value, --cfg job, --config-dir FOLDER, --help or --version"
_LONG = {
    "-c": "--cfg",
    "-cd": "--config-dir",
    "-m": "--multirun",
    "-cn": "--config-name",
    "-cp": "--config-path",
    "-sc": "--shell-completion",
}
_FLAGS_WITH_VALUE = ("--cfg", "--config-dir", "--config-name", "--config-path", "--package")
_FLAGS_WITHOUT_EFFECT = ("--", "--run", "-r", "--resolve")
"""Flags without effect: Hydra's settings are resolved anyway."""
_NO_HYDRA = (
    "Hydra only composes the settings here, expected archive.root=FOLDER and name=NAME to say "
    "where a run is written"
)
_ANSWERS = {
    "--multirun": "a command is one run, expected one for each: "
    "for seed in 0 1 2; do python -m evo.run … seed=$seed; done",
    "--config-name": "expected +experiment=NAME, which chooses what is run",
    "--config-path": "expected --config-dir FOLDER, with a folder for each group",
    "--shell-completion": "expected --completion bash, whose output is to be sourced",
    "--hydra-help": "expected --help",
}


@dataclass(frozen=True)
class Words:
    """The overrides of a command line, and whether the configuration is only to be shown."""

    overrides: tuple[str, ...]
    show: bool = False


def read_flags(arguments: Sequence[str], experiments: Sequence[str]) -> Words:
    """Tell settings from flags. Raises :class:`ConfigError` for what is neither.

    ``--config-dir`` becomes the override of Hydra's search path that it stands for.
    """
    words, rest = Words(()), list(arguments)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            words = _with_flag(words, word, rest)
        elif word.startswith("hydra.") and not word.startswith("hydra.searchpath="):
            raise ConfigError(f"{excerpt(word)}: {_NO_HYDRA}")
        elif "=" in word or word.startswith("~"):
            words = replace(words, overrides=(*words.overrides, word))
        else:
            raise ConfigError(_not_a_setting(word, experiments))
    return words


def _with_flag(words: Words, word: str, rest: list[str]) -> Words:
    """``words`` with a flag added; the flag's value may be the next of ``rest``."""
    name, equals, value = word.partition("=")
    name = _LONG.get(name, name)
    if name in _FLAGS_WITH_VALUE and not equals:
        value = rest.pop(0) if rest else ""
    if name in _FLAGS_WITHOUT_EFFECT:
        return words
    if name == "--cfg":
        if value != "job":
            raise ConfigError(f"--cfg: found {excerpt(value)!r}, expected job")
        return replace(words, show=True)
    if name == "--config-dir":
        folder = user_path(value)
        if not folder.is_dir() or not value:
            raise ConfigError(f"--config-dir: found {excerpt(value)!r}, expected a folder")
        path = f"hydra.searchpath=[{folder.absolute().as_uri()}]"
        return replace(words, overrides=(*words.overrides, path))
    key = name.lstrip("-").replace("-", "_")
    setting = f"{key}={value or (rest[0] if rest and '=' not in rest[0] else '…')}"
    unknown = f"unknown flag, {_EXPECTED}; a setting is written {excerpt(setting)}"
    raise ConfigError(f"{excerpt(name)}: {_ANSWERS.get(name, unknown)}")


def completion(shell: str, words: Sequence[str]) -> str:
    """A script by which a shell completes ``words``; raises :class:`ConfigError` for a shell that
    is not known."""
    import shtab

    if shell not in shtab.SUPPORTED_SHELLS:
        expected = " or ".join(shtab.SUPPORTED_SHELLS)
        raise ConfigError(f"--completion: found {excerpt(shell)!r}, expected {expected}")
    parser = ArgumentParser("xent-evo", add_help=False)
    parser.add_argument("setting", nargs="*", choices=words)
    return shtab.complete(parser, shell)


def _not_a_setting(word: str, experiments: Sequence[str]) -> str:
    if word in ("help", "version"):
        return f"{word}: expected --{word}"
    if word == "resume":
        return "resume: expected resume=RUN_FOLDER"
    if close := get_close_matches(word, experiments, 1):
        return f"{excerpt(word)}: expected key=value, did you mean +experiment={close[0]}?"
    return f"{excerpt(word)}: {_EXPECTED}"
