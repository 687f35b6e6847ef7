"""Commands that score nothing load no model's libraries: they start in a moment."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "torch",
    "transformers",
    "peft",
    "ray",
    "numpy",
    "scipy",
    "pyarrow",
    "hydra",
    "omegaconf",
    "pydantic",
    "httpx2",
    "rich",
    "jinja2",
)
COMMANDS = (
    ("check", "censor"),
    ("check", "censor", "--json"),
    ("format", "censor"),
    ("canonical", "censor"),
    ("diagram", "censor"),
    ("games",),
)
CODE = f"""
import sys
from xgl.cli import main
for command in {COMMANDS}:
    assert main(command) == 0, command
print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
"""


def test_no_heavy_module_is_loaded() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert (run.returncode, run.stderr.strip()) == (0, "")
