"""Other people's frameworks, each in an environment of its own that sees this project's.

What a framework needs in versions of its own is installed there; everything else, torch above all,
is taken from the environment of the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[3]


class Framework:
    """An environment with some packages; made in ``folder``, or found there.

    ``XENT_FRAMEWORKS`` names a folder that keeps environments between test runs.
    """

    def __init__(self, folder: Path, name: str, *packages: str) -> None:
        self.folder = Path(os.environ.get("XENT_FRAMEWORKS", folder)) / name
        if not (self.folder / "done").exists():
            venv.create(self.folder, symlinks=True)
            version = f"python{sys.version_info.major}.{sys.version_info.minor}"
            site = self.folder / "lib" / version / "site-packages"
            site.joinpath("project.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
            self.pip(*packages)
            (self.folder / "done").touch()

    def pip(self, *arguments: str) -> None:
        """``pip install`` there."""
        pip = [sys.executable, "-m", "pip", "--python", self.folder / "bin" / "python"]
        run([*pip, "install", "-q", "--no-compile", *arguments])

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """What a command of the environment prints."""
        program = self.folder / "bin" / str(command[0])
        return run([program, *command[1:]], cwd)


def run(command: list[str | Path], cwd: Path | None = None) -> str:
    """Standard output; an assertion with both streams where it fails."""
    process = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=cwd
    )
    assert process.returncode == 0, f"{command}\n{process.stdout[-4000:]}\n{process.stderr[-6000:]}"
    return process.stdout
