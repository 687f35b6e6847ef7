"""XGL, the Xent Game Language: parse, analyse and play games. Needs no torch, ray or hydra."""

from xgl.analyse import Report, analyse
from xgl.batch import Cast, Instance, play_all
from xgl.canonical import Game, Metadata, game
from xgl.errors import ProgramError, XGLError
from xgl.parse import parse, parse_line
from xgl.requests import Play, Seeds
from xgl.single import play
from xgl.syntax import Program
from xgl.text import to_text

__all__ = [
    "Cast",
    "Game",
    "Instance",
    "Metadata",
    "Play",
    "Program",
    "ProgramError",
    "Report",
    "Seeds",
    "XGLError",
    "analyse",
    "game",
    "parse",
    "parse_line",
    "play",
    "play_all",
    "to_text",
]
