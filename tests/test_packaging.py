"""What an installation holds, and that a part of it is enough for a part of the work."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from support.example import EXAMPLE

import xgl
import xgl.errors
from xgl.errors import EXTRAS, install_command, missing_package

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {"hydra_core": "hydra", "pyyaml": "yaml", "tree_sitter_python": "tree_sitter"}
"""Modules that are called other than their distributions."""


def distributions(requirements: list[str]) -> set[str]:
    names = (re.match(r"[\w-]+", each)[0].replace("-", "_") for each in requirements)  # type: ignore[index]
    return {MODULES.get(name, name) for name in names if name != "xent_evo"}


OTHERS = {"polars", "inspect_ai", "tree_sitter_python"}
"""Tools that users bring along, imported only beside them, and a module of an extra's package."""

BASE = distributions(PROJECT["dependencies"])
EXTRA = {name: distributions(PROJECT["optional-dependencies"][name]) for name in EXTRAS}


def test_extras_are_what_messages_say() -> None:
    assert {name: set(packages) for name, packages in EXTRAS.items()} == EXTRA
    error = ModuleNotFoundError("No module named 'ray.util'", name="ray.util")
    message = missing_package(error)
    assert message == f"ray is not installed, expected it: pip install -e '{ROOT}[run]'"
    assert missing_package(ModuleNotFoundError("No module named 'mine'", name="mine")) is None


def test_a_wheel_says_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xgl.errors, "__file__", str(tmp_path / "xgl" / "errors.py"))
    monkeypatch.setattr(xgl.errors, "version", {"xent-evo": "7.1"}.__getitem__)
    assert install_command("run") == "pip install 'xent_evo-7.1-py3-none-any.whl[run]'"


def test_every_imported_package_is_required_somewhere() -> None:
    """Every import of the four packages, wherever it stands in a module."""
    requirements = (
        BASE | set().union(*EXTRA.values()) | {"archive", "conf", "evo", "meta_sampler", "xgl"}
    )
    requirements |= {*sys.stdlib_module_names, "markupsafe", *OTHERS}  # markupsafe: of jinja2
    statement = re.compile(r"^ *(?:from|import) ([a-z_]\w*)[\w.]*(?: import .*)?$", re.MULTILINE)
    strings = re.compile(r'"""(.|\n)*?"""')
    missing_packages = {
        (match[1], path.name)
        for package in ("archive", "evo", "meta_sampler", "xgl")
        for path in (ROOT / package).rglob("*.py")
        for match in statement.finditer(strings.sub("", path.read_text(encoding="utf-8")))
        if match[1] not in requirements
    }
    assert not missing_packages


@pytest.mark.parametrize("name", PROJECT["scripts"])
def test_scripts_answer_with_the_version(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, function = PROJECT["scripts"][name].partition(":")
    monkeypatch.setattr(sys, "argv", [name, "--version"])
    try:
        code = getattr(import_module(module), function)()
    except SystemExit as end:
        code = end.code
    assert (code, capsys.readouterr().out) == (0, f"xent-evo {xgl.__version__}\n")


PART = """
import sys
class Installed:  # a name that is None in sys.modules is not the same: SciPy takes it for a module
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *arguments):
        if name.partition(".")[0] not in {missing}:
            return self.finder.find_spec(name, *arguments)
sys.meta_path[:] = map(Installed, sys.meta_path)
{code}
"""
READING = """
from archive.__main__ import main
from xgl.cli import main as xgl
run, page = sys.argv[1:]
for command in ("inspect", "matrix", "decisions", "cover"):
    assert main([command, run]) == 0, command
assert main(["report", run, "-o", page]) == 0
assert xgl(["check", "censor"]) == 0
assert xgl(["play", "censor", "--judge", "embedded"]) == 2
assert main(["export", run, page + ".measure", "--format", "xent"]) == 2
import evo.run
assert evo.run.main(["+experiment=scope_growth"]) == 2
"""


def test_reading_needs_the_base_alone(tmp_path: Path) -> None:
    text = PART.format(missing=sorted(set().union(*EXTRA.values())), code=READING)
    command = [sys.executable, "-c", text, str(EXAMPLE), str(tmp_path / "page.html")]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    messages = [line for line in process.stderr.splitlines() if "not installed" in line]
    assert [re.findall(r"\[(\w+)\]", line) for line in messages] == [["score"], ["score"], ["run"]]
