"""XGL, the Xent Game Language: parse, analyse and play games. Needs no torch, ray or hydra."""

from xgl import notebook as _notebook  # noqa: F401  # by which notebooks show games and plays
from xgl.analysis.static_facts import StaticFacts, analyse
from xgl.errors import ProgramError, XGLError
from xgl.language.canonical import Game, Metadata, game
from xgl.language.parser import parse
from xgl.language.syntax import Program
from xgl.language.unparse import to_text
from xgl.library import read_game
from xgl.runtime.episode import Episode, EpisodeQueue, start_all, step_all
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Play, Seeds
from xgl.single_play import play
from xgl.version import __version__

__all__ = [
    "Cast",
    "Episode",
    "EpisodeQueue",
    "Game",
    "Instance",
    "Metadata",
    "Play",
    "Program",
    "ProgramError",
    "Seeds",
    "StaticFacts",
    "XGLError",
    "__version__",
    "analyse",
    "game",
    "parse",
    "play",
    "play_all",
    "read_game",
    "start_all",
    "step_all",
    "to_text",
]
