"""Xent Game Diagrams (paper §2.5): a program to a drawing to SVG, by pure functions."""

from xgl.diagram.layout import lay_out
from xgl.diagram.svg import file_text
from xgl.language.syntax import Program

__all__ = ["draw", "lay_out"]


def draw(program: Program, title: str = "") -> str:
    """The diagram of a valid program as one SVG document, ending in a newline."""
    return file_text(lay_out(program, title))
