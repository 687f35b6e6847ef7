"""Presentation files for the authors' package, which executes them.

They are one fixed file. What is a game's own enters as one JSON literal, so that no text of a
program can become Python.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from xgl.analysis.plain_english import in_words
from xgl.language.canonical import game
from xgl.lowering import Lowered
from xgl.lowering.lower import FAILURES

_PLACE = 'json.loads("{}")'
TEMPLATE = files("archive.export").joinpath("presentation_template.py").read_text("utf-8")


def presentation(lowered: Lowered, role: str) -> str:
    """The presentation file of a game measured in ``role``."""
    metadata = replace(lowered.metadata, max_failures=FAILURES)
    told = in_words(game(lowered.program, metadata), role)
    return filled(lowered.text, told, role)


def filled(code: str, told: Sequence[str], role: str) -> str:
    """The fixed file with a game's data in its place.

    Its JSON, in ASCII, stands as a JSON string: escapes and all, that is a Python string of the
    same value.
    """
    data = json.dumps({"code": code, "rules": list(told), "role": role})
    assert TEMPLATE.count(_PLACE) == 1
    head, tail = TEMPLATE.split(_PLACE)
    return f"{head}json.loads({json.dumps(data)}){tail}"
