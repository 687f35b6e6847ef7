"""Xent Game Diagrams (paper §2.5): a program to a drawing to SVG, by pure functions."""

from xgl.diagram.layout import lay_out
from xgl.diagram.svg import to_svg
from xgl.language.syntax import Program

__all__ = ["draw", "lay_out", "to_svg"]


def draw(program: Program, title: str = "") -> str:
    """The diagram of a valid program as one SVG document."""
    return to_svg(lay_out(program, title))
