"""Players: who makes the moves (docs/specification.md, "Playing a game")."""

from xgl.players.simple import RandomPlayer, ScriptedPlayer

__all__ = ["RandomPlayer", "ScriptedPlayer"]
