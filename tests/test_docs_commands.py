"""Every command of every page is accepted: a run composes its settings, a command of an archive
is carried out on the example run, one of the language as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chat_server import ChatServer, in_order, move

import evo.run
from archive.__main__ import main as archive
from evo.config import ALL_SETTINGS, find
from evo.config.compose import setting_roles
from xgl.cli import main as xgl
from xgl.settings import Role

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CLUSTERS = ROOT / "docs/how-to/scaling.md"
FENCE = re.compile(r"^```bash\n(?!# at )(.*?)^```$", re.MULTILINE | re.DOTALL)
INSIDE = re.compile(r"python -m evo\.run (?:.|\n)*?name=\w+")
"""A run in a file for SLURM or Kubernetes, which only the page of clusters shows."""
RUN = "runs/scope_growth-seed0"
FAKE_PLACES = {r"\b(runs/NAME|RUN)\b": RUN, r"\bGAME\b": "334f5179"}
"""Names that a reader replaces, and what the example has there."""
OTHERS = (
    *("pip", "pytest", "mkdocs", "ray", "kubectl", "sbatch", "vllm", "vf-eval", "prime"),
    *("xent", "hf", "openenv", "(cd", "export", "cd", "srun", "git", "inspect"),
)
"""Programs of others, of which only the name is held here."""


def blocks() -> Iterator[tuple[str, str]]:
    """Each block of commands, by its page and line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for fence in FENCE.finditer(text):
            line = text.count("\n", 0, fence.start()) + 1
            yield f"{page.relative_to(ROOT)}:{line}", re.sub(r"\\\n\s*", "", fence[1])
    files = "".join(re.findall(r"^```text\n(.*?)^```$", CLUSTERS.read_text("utf-8"), re.M | re.S))
    for number, command in enumerate(INSIDE.findall(files)):
        yield f"{CLUSTERS.name}, file {number}", re.sub(r"\\?\n\s*", " ", command)


BLOCKS = dict(blocks())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are typed: with a finished run, as the README's first command leaves it."""
    for each in ("conf", "benchmarks", "docs", "xgl"):
        (tmp_path / each).symlink_to(ROOT / each)
    shutil.copytree(ROOT / "docs/example/run", tmp_path / RUN)
    (tmp_path / "my-game.xent").write_text("assign(s=story())\nelicit(t, 8)\nreward(xed(s | t))\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    return tmp_path


@pytest.mark.parametrize("block", BLOCKS)
def test_its_commands_are_accepted(
    block: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in BLOCKS[block].splitlines():
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
    if module == "archive":  # few resamples, which take seconds otherwise
        few = ("--resamples", "4") if arguments[0] == "ratings" else ()
        return archive([*arguments, *few])
    return subprocess.run([sys.executable, "-m", *words[2:], "--help"]).returncode


RESUMABLE = {
    key
    for place in ALL_SETTINGS
    for key, role in setting_roles(find(place)).items()
    if role is not Role.SCIENCE
}
