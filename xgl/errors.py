"""The errors of the language, of its users and of its models, and the limits on the length of
messages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from shlex import quote

MAX_PROBLEMS = 100
"""Problems reported of one text; reading stops when this many are found."""
MAX_QUOTED = 160
"""Most characters that a message quotes from a text in one place."""
MAX_MESSAGE = 16_384
"""Characters of one message."""


def excerpt(text: str, most: int = MAX_QUOTED) -> str:
    """The beginning of a text, with an ellipsis where it goes on beyond ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


class XGLError(Exception):
    """Root of every error that this package raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a program's text.

    ``line`` counts from 1 over the whole text, ``column`` from 1 within the line;
    ``found`` is the text or node at this place, ``expected`` what would be valid.
    """

    line: int
    column: int
    found: str
    expected: str
    source: str = ""
    """The line as written; characters that cannot be printed stand as ``\\ufffd``."""
    suggestion: str = ""

    def __str__(self) -> str:
        hint = f"; did you mean {self.suggestion!r}?" if self.suggestion else ""
        place = f"line {self.line}, column {self.column}"
        head = f"{place}: {self.found}; expected {self.expected}{hint}"
        if not self.source:
            return head
        # At most MAX_QUOTED characters of the line, with the column among them.
        column = self.column - 1
        start = max(0, column - MAX_QUOTED // 2)
        before = ("…" if start else "") + self.source[start:column]
        visible_line = excerpt(before + self.source[column:], MAX_QUOTED)
        margin = "".join("\t" if c == "\t" else " " for c in before)
        return f"{head}\n    {visible_line}\n    {margin}^"


class ProgramError(XGLError):
    """A text that is no valid program; ``problems`` holds what is wrong with it, the first
    ``MAX_PROBLEMS``."""

    def __init__(self, problems: tuple[Problem, ...], origin: str = "program") -> None:
        self.problems = problems[:MAX_PROBLEMS]
        self.origin = origin
        super().__init__(origin, self.problems)

    def __str__(self) -> str:
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) > 1 else "")
        if len(self.problems) == MAX_PROBLEMS:
            count += " or more"
        head = f"{excerpt(self.origin)}: {count}"
        return excerpt("\n".join([head, *map(str, self.problems)]), MAX_MESSAGE)


class OversizeError(XGLError):
    """A string beyond the metadata's cap, or a request beyond a model's window
    (docs/specification.md, "Size limits").

    Thrown into a running game it ends the game; in a batch's answers it is a value and is not
    raised.
    """


class ConfigError(XGLError, ValueError):
    """An invalid setting: one sentence with the key, the value, and the valid values."""


def check_kind(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raises :class:`ConfigError` for an argument that is of none of these kinds."""
    if not isinstance(value, kinds):
        raise ConfigError(f"{name}: found {excerpt(repr(value))}, expected {expected}")


class UnknownKeyError(ConfigError):
    """A setting that does not exist; ``key`` is its name with the groups that it is in, dotted."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class FlowError(XGLError):
    """A program that is valid line by line cannot run in this order of lines, such as flag_1 after
    flag_2 (paper §2.4.1), or an ensure before any elicit."""


class FlagMissingError(FlowError):
    """A replay of a flag that was never placed, where the dialect allows none."""


class JudgeError(XGLError):
    """The judge could not give a number; a failed score is never 0."""


class NotFiniteError(JudgeError):
    """A model's numbers are NaN or infinite, and will be so again."""


class StoryError(XGLError):
    """No source has a story that a program asks for."""


class PlayerError(XGLError):
    """A player could not give a move."""


class BudgetError(PlayerError):
    """A budget is spent: that of an endpoint's tokens or dollars (no further request was sent), or
    a run's, which is checked after each commit."""


class ModelNotFoundError(XGLError, ValueError):
    """A reference that leads to no usable model; the message is one sentence for the user."""


def wrong_ending(path: str | Path, *endings: str) -> str | None:
    """One sentence if a file would be written under the ending of another kind; ``endings``: those
    of its own kind. None for one of these, in any case, and for a name without an ending."""
    ending = Path(path).suffix
    if ending.lower() in ("", *endings):
        return None
    return f"{path}: found the ending {ending}, expected {' or '.join(endings)}, which is written"


EXTRAS = {
    "score": (
        *("torch", "transformers", "safetensors", "tokenizers"),
        *("accelerate", "gguf", "huggingface_hub"),
    ),
    "chat": ("httpx2",),
    "run": ("ray", "hydra", "omegaconf", "yaml", "peft", "llguidance"),
    "ggbench": ("gymnasium", "stable_baselines3", "sb3_contrib", "tree_sitter"),
}
"""Packages that only part of the system needs, by the extra that installs them."""


def missing_package(error: ModuleNotFoundError) -> str | None:
    """One sentence that says what to install; None if the package is not one of ``EXTRAS``."""
    package = (error.name or "").partition(".")[0]
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    if extra is None:
        return None
    return f"{package} is not installed, expected it: {install_command(extra)}"


def install_command(extra: str) -> str:
    """The command that adds an extra. No index has this distribution: it names the checkout that
    the code is in, or the wheel that it was installed from."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return f"pip install -e {quote(f'{checkout}[{extra}]')}"
    return f"pip install 'xent_evo-{version('xent-evo')}-py3-none-any.whl[{extra}]'"
