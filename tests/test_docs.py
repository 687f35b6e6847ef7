"""What a page shows is what happens: every output in README.md and docs/ is produced here.

A fence without a language holds an output: of the Python block right above it, or of the commands
after ``$`` in it. ``> `` is what a person types there. In an output … stands for any characters,
and alone on a line for any lines. A page names the command behind what takes too long to repeat.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import pytest
from support.chat_server import ChatServer, in_order, move
from support.example import EXAMPLE, GAMES

import evo.run
from archive.__main__ import main as archive
from evo.config import ALL_SETTINGS
from evo.config.compose import setting_roles
from xgl import ProgramError, parse
from xgl.cli import main as xgl
from xgl.language.dialects import DIALECTS
from xgl.settings import Role

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENDPOINT = "http://127.0.0.1:8000/v1"
"""Of a chat model, in examples; a server of these tests answers in its place."""
LANGUAGES = {"", "bash", "python", "sql", "text", "xgl"}
FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; ``gap`` is the text between it and the block before."""

    page: str
    line: int
    language: str
    text: str
    gap: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text, end = page.read_text(encoding="utf-8"), 0
        for fence in FENCE.finditer(text):
            line = text.count("\n", 0, fence.start()) + 1
            yield Block(
                str(page.relative_to(ROOT)),
                line,
                fence[1],
                fence[2],
                text[end : fence.start()].strip(),
            )
            end = fence.end()


BLOCKS = list(blocks())


def commands_of_today(text: str) -> str:
    """A page without what it says of an earlier commit: fences that begin with ``# at COMMIT``, and
    code after *at COMMIT:*."""
    text = re.sub(r"^```bash\n# at [0-9a-f]{8}\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\b[Aa]t [0-9a-f]{8}:\s`[^`]*`", "", text)


def outputs_of_python() -> Iterator[tuple[Block, Block | None]]:
    """Each Python block with the output below it; None for one that shows none."""
    for block, after in pairwise([*BLOCKS, Block("", 0, "end", "", "")]):
        if block.language == "python":
            below = after.page == block.page and after.language == "" and not after.gap
            yield block, after if below else None


def transcripts() -> Iterator[Block]:
    yield from (block for block in BLOCKS if not block.language and block.text.startswith("$ "))


def same(example: str, output: str) -> bool:
    pattern = ""
    for line in example.rstrip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(line.rstrip()).replace("…", ".*") + r"\n"
    lines = [line.rstrip() for line in output.rstrip().splitlines()]
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def test_every_block_says_what_it_is() -> None:
    assert {block.language for block in BLOCKS} <= LANGUAGES
    outputs = {str(output) for _, output in outputs_of_python() if output}
    examples = outputs | {str(block) for block in transcripts()}
    assert [
        str(block) for block in BLOCKS if not block.language and str(block) not in examples
    ] == []


@pytest.mark.parametrize("case", [*outputs_of_python()], ids=lambda case: str(case[0]))
def test_python_prints_what_the_page_shows(case: tuple[Block, Block | None]) -> None:
    example, output = case
    stdout = io.StringIO()
    with ChatServer(in_order(move("zebras"))) as server, contextlib.redirect_stdout(stdout):
        exec(example.text.replace(ENDPOINT, server.url), {})
    if output is not None:
        assert same(output.text, stdout.getvalue()), stdout.getvalue()


@pytest.mark.parametrize("block", [*transcripts()], ids=str)
def test_a_command_prints_what_the_page_shows(
    block: Block, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(ROOT)
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, example = step.partition("\n")
        output = result(command, example, monkeypatch, capsys)
        assert same(example, output), f"{command}\n{output}"


def result(
    command: str, example: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """All that a command prints, on a screen where somebody types what ``example`` has after >."""
    match = re.fullmatch(r"echo '(.*)' \| (.*)", command)
    text, command = (match[1] + "\n", match[2]) if match else ("", command)
    python, module, name, *arguments = shlex.split(command)
    assert [python, module] == ["python", "-m"], command
    if name != "xgl":
        run = subprocess.run(
            [sys.executable, "-m", name, *arguments], capture_output=True, text=True
        )
        return run.stdout + run.stderr
    inputs = iter(re.findall(r"^> (.*)$", example, re.MULTILINE))

    def screen(prompt: str) -> str:
        line = next(inputs, None)
        if line is None:
            raise EOFError
        print(prompt + line)
        return line

    monkeypatch.setattr("builtins.input", screen)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    xgl(arguments)
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "xgl"], ids=str)
def test_a_program_is_valid(block: Block) -> None:
    problems = []
    for dialect in DIALECTS:
        try:
            parse(block.text, dialect)
        except ProgramError as error:
            problems.append(str(error))
    assert len(problems) < len(DIALECTS), problems


CLUSTERS = "docs/how-to/scaling.md"
INSIDE = re.compile(r"python -m evo\.run (?:.|\n)*?name=\w+")
"""A run in a file for SLURM or Kubernetes, which only the page of clusters shows."""
RUN = "runs/scope_growth-seed0"
FAKE_PLACES = {r"\b(runs/NAME|RUN)\b": RUN, r"\bGAME\b": GAMES[-1][:8]}
"""Names that a reader replaces, and what the example has there."""
OTHERS = (
    *("pip", "pytest", "mkdocs", "ray", "kubectl", "sbatch", "vllm", "vf-eval", "prime"),
    *("xent", "hf", "openenv", "(cd", "export", "cd", "srun", "git", "inspect"),
)
"""Programs of others, of which only the name is held here."""


def commands() -> Iterator[tuple[str, str]]:
    """Each block of commands of today, by its page and line."""
    for block in BLOCKS:
        if block.language == "bash" and not block.text.startswith("# at "):
            yield str(block), re.sub(r"\\\n\s*", "", block.text)
        if block.language == "text" and block.page == CLUSTERS:
            for number, command in enumerate(INSIDE.findall(block.text)):
                yield f"{block}, run {number}", re.sub(r"\\?\n\s*", " ", command)


COMMANDS = dict(commands())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are typed: with a finished run, as the README's first command leaves it."""
    for each in ("conf", "benchmarks", "docs", "xgl"):
        (tmp_path / each).symlink_to(ROOT / each)
    shutil.copytree(EXAMPLE, tmp_path / RUN)
    (tmp_path / "my-game.xent").write_text("assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    return tmp_path


@pytest.mark.parametrize("block", COMMANDS)
def test_its_commands_are_accepted(
    block: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in COMMANDS[block].splitlines():
        for command in re.sub(r"(^|\s)# .*", "", line).split(" && "):
            if command.strip():
                assert carry_out(command.strip()) == 0, f"{command}\n{capsys.readouterr().err}"


def carry_out(command: str) -> int:
    """The exit code of a command, or of the check that stands for it."""
    if command.startswith("echo "):
        return subprocess.run(command, shell=True).returncode
    for name, place in FAKE_PLACES.items():
        command = re.sub(name, place, command)
    words = [word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    if words[:2] != ["python", "-m"]:
        script = words[1] if words[0] == "python" else "README.md"
        assert words[0] in (*OTHERS, "python")
        return 0 if script == "-c" or (ROOT / script).is_file() else 1
    module, arguments = words[2], words[3:]
    if module == "evo.run" and arguments[0].startswith("resume="):
        keys = {word.partition("=")[0] for word in arguments[1:]}
        return 0 if keys <= RESUMABLE else 2
    if module == "evo.run":
        return evo.run.main([*arguments, "--cfg", "job"])
    if module == "xgl":
        with ChatServer(in_order(move("zebras"))) as server:
            url = ["--base-url", server.url] if "--chat" in arguments else []
            return xgl([*arguments, *url])
    assert module == "archive"  # without what takes seconds
    few = ("--resamples", "4") if arguments[0] == "ratings" else ()
    bare = ("--no-scores",) if {"export", "xent"} <= {*arguments} else ()
    return archive([*arguments, *few, *bare])


RESUMABLE = {
    key
    for place in ALL_SETTINGS
    for key, role in setting_roles(resolve_name(place)).items()
    if role is not Role.SCIENCE
}


PLACES = [
    row
    for row in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| an? [^|]* \|", row)
]


@pytest.mark.parametrize("row", PLACES, ids=lambda row: row.split("|")[1].strip())
def test_what_the_architecture_names_stands_where_it_says(row: str) -> None:
    """Each file exists, one without a folder in that of the file before it; and each name stands in
    one of the row's files."""
    texts, folder, names = [], ROOT, []
    for name in re.findall(r"`([^`]+)`", "".join(row.split("|")[2:])):
        if re.fullmatch(r"[\w/]+(?:\.(?:py|md|html)|/)", name):
            path = ROOT / name if "/" in name else folder / name
            assert path.exists(), name
            folder = path if path.is_dir() else path.parent
            files = path.rglob("*.py") if path.is_dir() else [path]
            texts += [file.read_text(encoding="utf-8") for file in files]
        elif " " not in name:
            names.append(name)
    assert texts
    unknown_names = [
        name for name in names if not any(re.search(rf"\b{name}\b", text) for text in texts)
    ]
    assert not unknown_names


CARDS = [ROOT / "training" / "README.md", ROOT / "xgl" / "models" / "embedded" / "README.md"]
PACKAGE = r"(?:xgl|archive|meta_sampler|evo|training|benchmarks)"
MODULE = re.compile(
    rf"(?<![\w./])({PACKAGE}(?:/\w+)*\.py)\b|\bpython (\w[\w/]*\.py)\b|python -m ({PACKAGE}[\w.]*)"
)


@pytest.mark.parametrize("page", [*PAGES, *CARDS], ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_that_a_page_names_exist(page: Path) -> None:
    found = MODULE.findall(commands_of_today(page.read_text(encoding="utf-8")))
    paths = {
        ROOT / (path or script or module.strip(".").replace(".", "/"))
        for path, script, module in found
    }
    unknown_paths = [
        str(path)
        for path in paths
        if not (
            path.is_file() or path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
        )
    ]
    assert not unknown_paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tests_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`(tests/[\w/]+(?:\.py)?)", page.read_text(encoding="utf-8"))
    assert not [path for path in named if not (ROOT / path).exists()]


# -- docs/specification.md holds what the repository cites -----------------------------------------

FOLDERS = ("xgl", "archive", "meta_sampler", "evo", "conf", "tests", "benchmarks", "docs")
SUFFIXES = {".py", ".md", ".yaml", ".toml", ".xgl", ".xent"}
SPECIFICATION = (ROOT / "docs" / "specification.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^#+ (.+)$", SPECIFICATION, re.MULTILINE)
SECTION = re.compile(r"specification\.md,\s+\"([^\"]+)\"")
"""A citation by heading: ``(docs/specification.md, "Truth")``; it may go over a line's end."""


def test_a_cited_section_is_a_heading() -> None:
    assert len(set(HEADINGS)) == len(HEADINGS)
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    citations = {
        (str(path), " ".join(name.split()))
        for path in paths
        if path.suffix in SUFFIXES
        for name in SECTION.findall(path.read_text(encoding="utf-8"))
    }
    assert citations
    assert not {(path, name) for path, name in citations if name not in HEADINGS}


@pytest.mark.long  # whose packages need not be there before
def test_the_reference_reads_docstrings_as_markdown() -> None:
    griffe = pytest.importorskip("griffe")
    pytest.importorskip("mkdocs")
    extension = runpy.run_path(str(ROOT / "docs" / "hooks.py"))["MarkdownDocstrings"]()
    module = griffe.load("xgl.single_play", extensions=griffe.Extensions(extension))
    text = module["play"].docstring.value
    assert "Raises `PlayerError` if" in text
    assert "```python\n>>> play(" in text
