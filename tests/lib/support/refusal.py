"""A command that a user gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest


def error_of(
    capsys: pytest.CaptureFixture[str], main: Callable[[Sequence[str]], int], *arguments: object
) -> str:
    """The one line on stderr in which a command refuses its arguments, with exit code 2."""
    assert main([str(each) for each in arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    return output.err
